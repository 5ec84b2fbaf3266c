"""A broker writes its committed offsets to its disk: ``ConsumerOffsetManager.persist``, called every few seconds and
when the broker shuts down (spec 2.7)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker.state import Broker

FLUSH = "flush"
"""Name of the timer."""


def persist(broker: Broker) -> None:
    """Write the offsets if any has changed since they were written last."""
    if broker.unflushed:
        broker.disk.offsets = broker.offsets.stored()
        broker.unflushed = False


def persist_again(broker: Broker, now: Time, out: Outbox) -> None:
    """The interval is over."""
    persist(broker)
    out.set_timer(FLUSH, now + broker.settings.flush_consumer_offset_interval_ms)
