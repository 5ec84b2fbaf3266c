"""A broker writes its committed offsets to its disk: ``ConsumerOffsetManager.persist``, called every few seconds and
when the broker shuts down (spec 2.7)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker import following
from rocketmq_selfbalance.broker.state import Broker

FLUSH = "flush"
"""Name of the timer."""


def persist(broker: Broker, now: Time) -> None:
    """Write the offsets if any has changed since they were written last."""
    if broker.unflushed:
        broker.disk.offsets = broker.offsets.stored(following.offsets_at(broker, now))
        broker.unflushed = bool(broker.followed)


def persist_again(broker: Broker, now: Time, out: Outbox) -> None:
    """The interval is over."""
    # Not where a round was passed over: its time, too, may lie ahead.
    broker.followed = {key: each for key, each in broker.followed.items() if each.last.until > now}
    persist(broker, now)
    out.set_timer(FLUSH, now + broker.settings.flush_consumer_offset_interval_ms)
