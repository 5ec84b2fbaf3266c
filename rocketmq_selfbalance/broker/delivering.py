"""Records that consumers sent back are delivered to their retry topic after their delay: RocketMQ's
``ScheduleMessageService`` (spec 6.7)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker import pulls
from rocketmq_selfbalance.broker.state import Broker

DELIVER = "deliver"
"""Name of the timer."""


def schedule_next(broker: Broker, now: Time, out: Outbox) -> None:
    """Set the clock for the next record that waits for its delivery."""
    if broker.disk.store.delayed:
        out.set_timer(DELIVER, max(now, broker.disk.store.delayed[0].due))


def deliver(broker: Broker, now: Time, out: Outbox) -> None:
    """Write the records that are due, and answer the pulls that wait for them."""
    for topic, number in broker.disk.store.deliver(now):
        pulls.notify_message_arriving(broker, now, topic, number, out)
    schedule_next(broker, now, out)
