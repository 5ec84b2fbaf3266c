"""What a consumer fetches and its user has handled: a function of time per partition, reported as intervals of offsets.

In Kafka 0.8 `ConsumerFetcherManager` and `ConsumerIterator`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from protocols.engine.nodes import TICK, Outbox, Time
from protocols.facts import Callback, Delivered, Owns, PassedOver, StandsStill
from protocols.facts import Position as Began
from protocols.java import Queue, sort_queues
from protocols.load import (
    PoisonRecords,
    Production,
    Reading,
    StuckOn,
    moved_on,
    next_reached,
    not_beyond,
    reached,
    shared_anew,
)
from protocols.node_state import NodeState

SHARE: Final = "share"
"""The timer that is due when a queue has caught up: that is reported, and its time is for others."""

_NOTHING = Production(0.0)


class User(NamedTuple):
    """What the user's code is like: ``handle`` milliseconds for a record, in so many threads at once."""

    handle: Time
    threads: int = 1


class Reported(NamedTuple):
    """The next offset to be reported, and when that was done last."""

    offset: int
    at: Time


@dataclass(slots=True, eq=False)
class Consumption(NodeState):
    """One user's loop that takes records from all owned queues, which share its time (`protocols.load`). It hands as
    many as it has threads to these at once.

    ``group`` and ``member`` are names in the scenario. ``production``: what is written to each queue that there is;
    ``poison``: what of it the user's code cannot handle.
    """

    _group: str
    _member: str
    production: Mapping[Queue, Production]
    _user: User
    poison: PoisonRecords[Queue]
    _readings: dict[Queue, Reading] = field(default_factory=dict)
    _reported: dict[Queue, Reported] = field(default_factory=dict)
    """The queues that we believe to own, sorted."""
    _frozen: dict[Queue, int] | None = None
    """Positions while the user's loop stands still."""
    _stuck: StuckOn[Queue] | None = None
    """The record that it stands still on, where one keeps it."""

    def start(self, now: Time, stored: Mapping[Partition, int], largest: bool, out: Outbox) -> None:
        """Own these partitions from now on and read them from the stored offsets; where there is none (-1) from the
        first record, or with ``largest`` from what is written next."""
        offsets: dict[Queue, int] = {}
        for queue in as_queues(stored):
            offset, why = stored[queue.topic, queue.number], "committed"
            written = self.production.get(queue)
            if offset < 0 or (written is not None and offset > written.end_offset(now)):
                offset = written.end_offset(now) if largest and written is not None else 0
                why = "last" if largest else "first"
            offsets[queue] = offset
            out.observe(Began(self._group, self._member, queue, offset, why))
        self._reported = {queue: Reported(offset, now) for queue, offset in offsets.items()}
        if self._frozen is None:
            self._read(now, offsets, out)
        else:
            self._frozen = offsets
        out.observe(Owns(self._group, self._member, tuple(offsets), None))

    def stop(self, now: Time, out: Outbox) -> dict[Partition, int]:
        """Own and read nothing any more; returns the positions reached."""
        self.report_delivered(now, out)
        positions = self.partitions(now)
        if self._reported:
            out.observe(Callback(self._group, self._member, "revoked", tuple(self._reported)))
            out.observe(Owns(self._group, self._member, (), None))
        self._readings, self._reported = {}, {}
        out.cancel_timer(SHARE)
        if self._frozen is not None:
            self._frozen = {}
        return positions

    def freeze(self, now: Time, out: Outbox) -> None:
        if self._stuck is not None:
            self._stuck = self._stuck.held(now)
            return
        self._frozen = self.positions(now)
        self._readings = {}
        out.cancel_timer(SHARE)

    def thaw(self, now: Time, out: Outbox) -> None:
        if self._stuck is not None:
            self._stuck = self._stuck.released(now)
            return
        frozen, self._frozen = self._frozen, None
        self._read(now, frozen or {}, out)

    def take_for(self, now: Time, handle: Time, out: Outbox) -> None:
        self._user = self._user._replace(handle=handle)
        out.cancel_timer(SHARE)
        if self._frozen is None:
            self.share_anew(now, out)

    def share_anew(self, now: Time, out: Outbox) -> None:
        """A queue has caught up: what it does not need is for the others."""
        self.report_delivered(now, out)
        readings = {
            queue: moved_on(self.poison, queue, reading, now, self._written(queue))
            for queue, reading in self._readings.items()
        }
        self._share(now, readings, out, goes_on=True)

    def poison_due(self, now: Time) -> Time | None:
        """When `meet_poison` is due; None where no poison is in sight."""
        if self._stuck is not None:
            return self._stuck.until
        return next_reached(self.poison, self._readings, now)

    def meet_poison(self, now: Time, out: Outbox) -> None:
        """The loop comes to a record that it cannot handle: it tries it again in place, and its other queues wait, too.
        Or it has done so often enough, and skips it. (Nobody else notices: ZooKeeper knows sessions only.)"""
        self.report_delivered(now, out)
        stuck, self._stuck = self._stuck, None
        if stuck is None:
            found = reached(self.poison, self.positions(now)) if self._frozen is None else None
            if found is not None:
                self.freeze(now, out)
                queue, record = found
                lasts = record.lasts(self._user.handle)
                self._stuck = StuckOn(queue, record, None if lasts is None else now + lasts)
                out.observe(StandsStill(self._group, self._member, queue, record.offset))
            return
        queue, record = stuck.queue, stuck.record
        if self._frozen is not None and self._frozen.get(queue) == record.offset:
            self._frozen[queue] = record.offset + 1
            self._reported[queue] = Reported(record.offset + 1, now)
            out.observe(PassedOver(self._group, self._member, queue, record.offset, record.skipped))
        self.thaw(now, out)

    def load(
        self, now: Time, production: Mapping[Queue, Production], poison: PoisonRecords[Queue], out: Outbox
    ) -> None:
        """This is written from now on. Call `report_delivered` before."""
        reached = self.positions(now)
        for queue in production.keys() - self.production.keys():
            if queue in reached:
                # The topic was deleted and created again: its records are numbered from 0.
                reached[queue] = 0
                self._reported[queue] = Reported(0, now)
        self.production, self.poison = production, poison
        if self._frozen is not None:
            self._frozen = reached
        else:
            self._read(now, reached, out)

    def positions(self, now: Time) -> dict[Queue, int]:
        if self._frozen is not None:
            return dict(self._frozen)
        return {
            queue: not_beyond(self.poison, queue, reading.start, reading.position(now, self._written(queue)))
            for queue, reading in self._readings.items()
        }

    def partitions(self, now: Time) -> dict[Partition, int]:
        return {(queue.topic, queue.number): offset for queue, offset in self.positions(now).items()}

    def report_delivered(self, now: Time, out: Outbox) -> None:
        for queue, position in self.positions(now).items():
            first, since = self._reported[queue]
            if position > first:
                reading = self._readings.get(queue)
                pace = (1, TICK) if reading is None else (reading.at_once, reading.turn or TICK)
                what = queue, first, position, since, now, *pace, self._user[0]
                out.observe(Delivered(self._group, self._member, *what))
            self._reported[queue] = Reported(position, now)

    def _read(self, now: Time, offsets: Mapping[Queue, int], out: Outbox) -> None:
        readings = {queue: Reading(offset, now, 0.0) for queue, offset in offsets.items()}
        self._share(now, readings, out, goes_on=False)

    def _share(self, now: Time, readings: Mapping[Queue, Reading], out: Outbox, *, goes_on: bool) -> None:
        handle, threads = self._user
        production = {queue: self._written(queue) for queue in readings}
        self._readings, until = shared_anew(now, handle, threads, readings, production, goes_on=goes_on)
        if until is not None:
            out.set_timer(SHARE, until)
        elif handle:
            out.cancel_timer(SHARE)

    def _written(self, queue: Queue) -> Production:
        """What is written to the queue; nothing where its topic is gone."""
        return self.production.get(queue, _NOTHING)


def as_queues(partitions: Iterable[Partition]) -> tuple[Queue, ...]:
    return sort_queues(Queue(topic, "", number) for topic, number in partitions)
