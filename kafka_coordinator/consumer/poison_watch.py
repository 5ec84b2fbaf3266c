"""When the user's loop comes to a record that it cannot handle (`protocols.poison`)."""

from kafka_coordinator.consumer import timers
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import Outbox, Time
from protocols.poison import next_reached


def watch(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Set the clock for it, as things are read now."""
    if not c.load.poison:
        return
    due = next_reached(c.load.poison, c.subscription.positions, now) if c.subscription.reading else None
    if due is None:
        out.cancel_timer(timers.POISON)
    else:
        out.set_timer(timers.POISON, due)
