"""Commands of the user, the administrator and the scenario to a consumer (sender `protocols.engine.nodes.OPERATOR`).

In Kafka the methods of `KafkaConsumer` that its user calls.
"""

from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.settings import ConsumerConfig, Load


class Close(NamedTuple):
    """close(): commit, callbacks, leave. ``successor``: what starts in its place once it has closed."""

    successor: ConsumerConfig | None = None


class Subscribe(NamedTuple):
    """subscribe(): other topics, or a pattern, from the next poll on; nothing at all is unsubscribe()."""

    topics: tuple[str, ...]
    pattern: str | None = None


class CommitNow(NamedTuple):
    """commitSync() of the positions, or of the offsets given; with ``generation`` it claims to be of another one."""

    offsets: tuple[tuple[Partition, int], ...] | None = None
    generation: int | None = None


class StopPolling(NamedTuple):
    """The user's loop stands still: it does not call poll() until `GoOn`."""


class GoOn(NamedTuple):
    """The user's loop polls again."""


class TakeFor(NamedTuple):
    """The user's code takes so many milliseconds for each record from now on."""

    handle: float


class Freeze(NamedTuple):
    """The process is about to be stopped: no record is handled from now on. Nothing else changes."""


class Thaw(NamedTuple):
    """The process runs again: records are handled from now on."""


class NewLoad(NamedTuple):
    """What producers write from now on."""

    load: Load


class BeginPoll(NamedTuple):
    """The user's loop is in poll() from now on (`ConsumerConfig.by_hand`)."""


class EndPoll(NamedTuple):
    """poll() has returned (`ConsumerConfig.by_hand`)."""


class Handle(NamedTuple):
    """The user has records ``first`` to ``end - 1`` of a partition in hand (`ConsumerConfig.by_hand`)."""

    partition: Partition
    first: int
    end: int


class Seek(NamedTuple):
    """seek(): read on from these offsets; owned partitions only, others are left alone."""

    offsets: tuple[tuple[Partition, int], ...]


class Assign(NamedTuple):
    """assign(): the user reads these partitions without a membership, from their committed offsets; none: it stops.

    For a consumer without a subscription (`ConsumerConfig.by_hand`).
    """

    partitions: tuple[Partition, ...]


class AssignAsMember(NamedTuple):
    """assign() of a member: it reads these from their committed offsets, too, whether the group has given them to it or
    not; it goes on until its own partitions change (`ConsumerConfig.by_hand`)."""

    partitions: tuple[Partition, ...]


class Store(NamedTuple):
    """Commits that name no offsets are of these from now on, not of the positions (`ConsumerConfig.by_hand`)."""

    offsets: tuple[tuple[Partition, int], ...]


class ListenerReturned(NamedTuple):
    """The user's listener has returned (`ConsumerConfig.by_hand`)."""


class ReportDelivered(NamedTuple):
    """Report which records were handled so far."""
