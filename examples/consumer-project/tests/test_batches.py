"""The batches on kafka-python, before a broker that runs beside the test."""

from contextlib import suppress
from threading import Thread
from time import monotonic, sleep

import pytest

pytest.importorskip("kafka")

from billing.batches import bill_in_batches

RECORDS = 120


class CrashError(Exception):
    """The process ends: nothing more is booked or committed."""


@pytest.fixture
def group(kafka_broker):
    kafka_broker.create_topic("orders")
    kafka_broker.produce("orders", "an order", count=RECORDS)
    return kafka_broker.group("billing")


def bill_all(broker, group):
    """The service runs in a thread until all records are booked; the record that comes then ends it."""

    def book(records):
        if records[0].offset == RECORDS:
            raise CrashError

    def run():
        with suppress(CrashError):
            bill_in_batches(group.watch(book), bootstrap_servers=broker.bootstrap)

    service = Thread(target=run)
    service.start()
    end = monotonic() + 20
    while broker.committed("billing").get(("orders", 0)) != RECORDS and monotonic() < end:
        sleep(0.01)
    broker.produce("orders", "one more")
    service.join(20)


def test_every_record_is_booked_once_in_quiet_times(kafka_broker, group):
    bill_all(kafka_broker, group)
    assert kafka_broker.committed("billing") == {("orders", 0): RECORDS}
    group.assert_handled_once()
    group.assert_nothing_lost()


def test_a_crash_in_the_middle_of_a_batch_repeats_the_batch(kafka_broker, group):
    booked = group.watch(lambda records: None)

    def book(records):
        booked(records)
        if records[0].offset == 50:
            raise CrashError

    with pytest.raises(CrashError):
        bill_in_batches(book, bootstrap_servers=kafka_broker.bootstrap)
    bill_all(kafka_broker, group)
    group.assert_nothing_lost()
    with pytest.raises(AssertionError, match="50 records were handled more than once: orders-0/50 to 99"):
        group.assert_handled_once()
