"""The program of receipts makes its own consumers and producers, and runs unchanged."""

import json

import pytest
from billing import receipts

INVOICES = 12


@pytest.fixture
def group(kafka_group):
    made = kafka_group(topics={"invoices": 2, "receipts": 1}, produce=0, name="billing")
    with made.confluent().installed():
        yield made.produce("invoices", INVOICES)


def written(group):
    return sorted(json.loads(content.value)["of"] for _, _, content in group.records.of("receipts"))


def every_invoice():
    return sorted(f"invoices-{number % 2}/{number // 2}" for number in range(INVOICES))


def test_every_invoice_has_a_receipt(group):
    group.run(receipts.main, seconds=60)
    assert written(group) == every_invoice()


@pytest.mark.parametrize("calls", range(5, 40, 3))
def test_no_crash_loses_or_doubles_a_receipt(group, calls):
    group.interrupt(lambda: group.crash("c1"), after_calls=calls)
    group.run(receipts.main, seconds=90)
    group.run(receipts.main, seconds=90)
    assert written(group) == every_invoice()


def test_a_twin_that_takes_over_fences_the_one_that_hangs(group):
    group.interrupt(receipts.Producer(receipts.PRODUCER).init_transactions, after_calls=12)
    with pytest.raises(receipts.KafkaException, match="_FENCED"):
        group.run(receipts.main, seconds=60)
    assert len(written(group)) < INVOICES
