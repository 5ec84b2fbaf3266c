"""The worker with RocketMQ's 5.x client, before a cluster that runs beside the test."""

import pytest

pytest.importorskip("rocketmq")

from billing.rocketmq_simple import BillingWorker
from rocketmq import ClientConfiguration, Credentials, FilterExpression, SimpleConsumer

INVOICES = [f"invoice {number}" for number in range(3)]
LEAST_INVISIBLE_S = 10
"""The proxy grants no less."""


class CrashError(Exception):
    """The process ends: nothing more is booked or acknowledged."""


@pytest.fixture
def work(rocketmq_cluster):
    rocketmq_cluster.create_topic("invoices", 1)
    for invoice in INVOICES:
        rocketmq_cluster.produce("invoices", invoice)

    def run(book):
        """A process of its own, until ``book`` lets it crash."""
        address = ClientConfiguration(rocketmq_cluster.proxy, Credentials())
        consumer = SimpleConsumer(address, "billing", {"invoices": FilterExpression()}, 5)
        with pytest.raises(CrashError):
            BillingWorker(consumer, book, LEAST_INVISIBLE_S).run()
        consumer.shutdown()

    return run


def test_what_could_not_be_booked_comes_again(work):
    tries = []

    def book(message):
        if message.body.decode() == INVOICES[1]:
            tries.append(message.delivery_attempt)
            if message.delivery_attempt == 2:
                raise CrashError
            raise ConnectionError

    work(book)
    assert tries == [1, 2]


def test_a_crash_before_the_acknowledgement_loses_nothing_and_books_once_more(work):
    booked = []

    def book(message):
        booked.append(message.body.decode())
        if len(booked) in (2, 4):  # booked, not yet acknowledged
            raise CrashError

    work(book)
    work(book)
    assert sorted(booked) == sorted([*INVOICES, INVOICES[1]])
