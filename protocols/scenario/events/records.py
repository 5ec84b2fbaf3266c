"""A member commits offsets.

A record is written that the user's code cannot handle.

Many records are written at once.

An administrator resets offsets.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.scenario.events.base import ClusterState, Event
from protocols.scenario.fields import Count, Duration, NamedCount, NamedOffset, duration_text, listed, named_queue
from protocols.scenario.validation import PartError, Path, suggestion


class Commit(Event):
    """A member commits its positions at once; or the offsets given, per ``topic-number`` or ``topic-broker-number``,
    with ``generation`` if the commit is to claim another one (Kafka)."""

    commit: str
    """The member."""
    offsets: dict[str, Count] | None = None
    """Queue to offset, instead of the member's positions."""
    generation: Annotated[int, Field(strict=True)] | None = None
    """The generation that the commit claims, instead of the member's (Kafka)."""

    example: ClassVar[str] = "{at: 20s, commit: c1, offsets: {orders-0: 10, payments-broker-a-1: 8}, generation: 1}"
    can_rebalance = False

    def describe(self) -> str:
        what = "" if self.offsets is None else " " + listed(f"{queue} at {at}" for queue, at in self.offsets.items())
        claimed = "" if self.generation is None else f" claiming generation {self.generation}"
        return f"{self.commit} commits{what}{claimed}"

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            offsets_of(self, there.topics)
        except UserError as error:
            raise PartError((*path, "offsets"), str(error)) from None

    def members(self) -> Mapping[str, Path]:
        return {self.commit: ("commit",)}


def offsets_of(event: Commit, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedOffset, ...]:
    """The offsets of a commit, in the order written; none where it commits the member's own positions.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    return tuple(_named(queue, offset, topics) for queue, offset in (event.offsets or {}).items())


def _named(queue: str, offset: int, topics: Mapping[str, Mapping[str, int]]) -> NamedOffset:
    if offset < 0:
        raise UserError(f"offset {offset} of {queue!r} is negative, expected 0 or more")
    return NamedOffset(*named_queue(queue, topics), offset)


class Poison(Event):
    """One record is written, beside those of the load, that no member's code can handle: every attempt throws.

    Kafka's clients try nothing again, nor do RocketMQ's pull consumers: the user's loop tries the record in place and
    polls no more meanwhile. RocketMQ's push consumers give it back to the broker (concurrent: RECONSUME_LATER) or
    suspend its queue (orderly). Code of your own in a test decides for itself."""

    poison: str
    """The queue (``topic-number`` or ``topic-broker-number``)."""
    attempts: Annotated[int, Field(strict=True, ge=1)] | None = None
    """After so many attempts the user's code skips the record; left out: it tries without end. Where it tries in place,
    each member counts from 1; what comes from RocketMQ's retry topic says how often it was tried. The system's own
    limit (``maxReconsumeTimes``) holds besides."""
    pause: Duration = 1000.0
    """Between attempts, where the user's code tries in place."""

    example: ClassVar[str] = "{at: 30s, poison: orders-2, attempts: 10, pause: 1s}"
    writes_records = True

    def describe(self) -> str:
        if self.attempts is None:
            return f"{self.poison} gets a record that no attempt can handle"
        skipped = f"{self.attempts} attempt{'' if self.attempts == 1 else 's'}"
        return f"{self.poison} gets a record that is skipped after {skipped}"

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            self.written(there.topics)
        except UserError as error:
            raise PartError((*path, "poison"), str(error)) from None

    def written(self, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
        return (NamedCount(*named_queue(self.poison, topics), 1),)


class Produce(Event):
    """So many records are written at once, beside those of the load: to a topic, whose queues they are dealt over in
    turn, or to one queue (``topic-number`` or ``topic-broker-number``)."""

    produce: dict[str, Count]
    """Topic or queue to its number of records."""

    example: ClassVar[str] = "{at: 30s, produce: {orders: 1000, payments-broker-a-1: 50}}"
    can_rebalance = False
    writes_records = True

    def describe(self) -> str:
        return listed(
            f"{name} gets {count} record{'' if count == 1 else 's'} at once" for name, count in self.produce.items()
        )

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            records_of(self, there.topics)
        except UserError as error:
            raise PartError((*path, "produce"), f"{error}, or a topic") from None

    def written(self, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
        return records_of(self, topics)


def records_of(event: Produce, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
    """How many records each queue gets, in the order written.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    named_counts: list[NamedCount] = []
    for name, count in event.produce.items():
        if name in topics:
            queues = sum(topics[name].values())
            shares = [(count + queues - 1 - number) // queues for number in range(queues)]
            named_counts += [NamedCount(name, "", number, share) for number, share in enumerate(shares) if share]
        else:
            named_counts.append(NamedCount(*named_queue(name, topics), count))
    return tuple(named_counts)


class Reset(Event):
    """An administrator sets a group's committed offsets of a topic back to a moment of the run: at the broker's table
    (``via: broker``) or through the running clients (``via: client``; RocketMQ)."""

    reset_offsets: str
    """The group."""
    topic: str
    """The topic."""
    to: Duration
    """The time in the run whose offsets are restored."""
    via: Literal["broker", "client"] = "broker"
    """How the new offsets are applied."""

    example: ClassVar[str] = "{at: 200s, reset_offsets: billing, topic: orders, to: 60s}"
    resets_offsets = True
    may_be_refused = True

    def describe(self) -> str:
        how = " through the clients" if self.via == "client" else ""
        return f"offsets of {self.reset_offsets} in {self.topic} are set back to {duration_text(self.to)}{how}"

    def refers_to(self) -> Sequence[Time]:
        return (self.to,)

    def check(self, there: ClusterState, path: Path) -> None:
        if self.reset_offsets not in there.groups:
            expected = suggestion(self.reset_offsets, there.groups)
            raise PartError((*path, "reset_offsets"), f"unknown group {self.reset_offsets!r}, {expected}")
        there.need_topic(self.topic, (*path, "topic"))
        if self.to > self.at:
            raise PartError(
                (*path, "to"), f"{duration_text(self.to)} is later than the event, expected a moment before it"
            )
