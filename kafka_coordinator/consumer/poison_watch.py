"""When the user's loop comes to a record that it cannot handle (`protocols.poison`)."""

from collections.abc import Mapping

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import timers
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import Outbox, Time
from protocols.load import Reading
from protocols.poison import next_reached


def watch(c: ConsumerState, now: Time, positions: Mapping[Partition, Reading], out: Outbox) -> None:
    """Set the clock for it, as these positions advance now."""
    if not c.load.poison:
        return
    due = next_reached(c.load.poison, positions, now) if c.subscription.reading else None
    if due is None:
        out.cancel_timer(timers.POISON)
    else:
        out.set_timer(timers.POISON, due)
