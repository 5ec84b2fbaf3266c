"""Where reading reaches a record that the user's code cannot handle (`protocols.poison`), as a function of time."""

from math import ceil

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import timers
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import TICK, Outbox, Time
from protocols.load import Reading
from protocols.poison import PoisonRecord, poison_ahead


def not_beyond(c: ConsumerState, partition: Partition, start: int, end: int) -> int:
    """How far a partition that was read from ``start`` has been read, if it would be ``end`` without poison."""
    record = poison_ahead(c.load.poison, partition, start)
    return end if record is None else min(end, record.offset)


def reached(c: ConsumerState) -> tuple[Partition, PoisonRecord] | None:
    """The first partition whose next record to handle is poison. Call `reading.advance` before."""
    for partition, each in c.subscription.positions.items():
        record = poison_ahead(c.load.poison, partition, each.start)
        if record is not None and record.offset == each.start:
            return partition, record
    return None


def watch(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Set the clock for the next poison record that will be reached."""
    if not c.load.poison:
        return
    out.cancel_timer(timers.POISON)
    if not c.subscription.reading:
        return
    due = [
        _reached_at(each, record, now)
        for partition, each in c.subscription.positions.items()
        if (record := poison_ahead(c.load.poison, partition, each.start)) is not None
    ]
    if due:
        out.set_timer(timers.POISON, min(due))


def _reached_at(reading: Reading, record: PoisonRecord, now: Time) -> Time:
    """All records before it are there: it was written after them."""
    due = reading.since + (record.offset - reading.start) * reading.per_record
    return max(now, ceil(due / TICK) * TICK)
