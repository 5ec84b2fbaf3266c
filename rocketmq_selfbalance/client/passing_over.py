"""What is told of records that the user's code could not handle."""

from protocols.engine.nodes import Outbox
from protocols.facts import PassedOver, StandsStill
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import Consumer

GIVEN_BACK = "given back to its broker"
DROPPED = "dropped, nothing is given back in a broadcasting group"


def passed_over(consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
    """The queue is read on behind this record; it is told where the record is poison."""
    if consumer.pool.poison.find(queue, offset) is not None:
        out.observe(PassedOver(consumer.group, consumer.member, queue, offset, why))


def stands_still(consumer: Consumer, queue: Queue, offset: int, out: Outbox) -> None:
    """The queue waits for this record."""
    out.observe(StandsStill(consumer.group, consumer.member, queue, offset))
