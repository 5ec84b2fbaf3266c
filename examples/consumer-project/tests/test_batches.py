"""The batches on kafka-python, in virtual time."""

import pytest

pytest.importorskip("kafka")

from billing.batches import bill_in_batches


def test_every_record_is_booked_once_in_quiet_times(kafka_group):
    with kafka_group.kafka_python().installed():
        kafka_group.run(lambda: bill_in_batches(kafka_group.watch(lambda records: None)), seconds=60)
    assert kafka_group.handled_twice() == []
    assert kafka_group.never_handled() == []


def test_a_crash_in_the_middle_of_a_batch_repeats_the_batch(kafka_group):
    group = kafka_group(topics={"orders": 1}, produce=0)
    group.produce("orders", 120)

    def book(records):
        if records[0].offset == 50:
            group.crash("c1")

    with group.kafka_python().installed():
        group.run(lambda: bill_in_batches(group.watch(book)), seconds=60)
        group.run(lambda: bill_in_batches(group.watch(lambda records: None)), seconds=120)
    assert [record.offset for record in group.handled_twice()] == list(range(50, 100))
    assert group.never_handled() == []
