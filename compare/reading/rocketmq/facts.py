"""What the views of mqadmin tell, one record per block or line. `join` puts them together.

Complete names that a view cut to its column's width, from sources that have them in full.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from compare.reading.observed import SourceText
from protocols import Queue


@dataclass(frozen=True, slots=True)
class Progress:
    """``consumerProgress -g``: the queues in which the group has an offset.

    ``lag`` is the column #Diff. ``shown`` (None without the column #Client IP) gives each queue the address of a
    member who reports it as owned; None where nobody who answered does. Topics as long as ``topic_width`` and brokers
    as long as ``broker_width`` may be cut. ``complete`` is False if rows could not be read or told apart. ``ends``:
    where the queues end, if told.
    """

    source: SourceText
    group: str | None
    group_cut: bool
    lag: Mapping[Queue, int]
    shown: Mapping[Queue, str | None] | None
    topic_width: int
    broker_width: int
    complete: bool
    ends: Mapping[Queue, int] = field(default_factory=dict)


class Connection(NamedTuple):
    """One connection of a client; ``address`` is its host and port."""

    client_id: str
    address: str


@dataclass(frozen=True, slots=True)
class Connections:
    """``consumerConnection``: what one broker knows of the group. ``topics`` is the subscription of whoever sent the
    last heartbeat; None where the block does not get as far."""

    source: SourceText
    group: str | None
    connections: tuple[Connection, ...]
    topics: tuple[str, ...] | None
    broadcasting: bool | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """``consumerStatus``: the clients that answered, by index from 1 on (a client id may be there twice).

    ``same_subscription`` is None where the text does not say. ``complaints``: queues that the tool found stuck.
    ``complete`` is False if clients may be cut off.
    """

    source: SourceText
    group: str | None
    clients: tuple[tuple[int, str], ...]
    same_subscription: bool | None
    complaints: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Running:
    """``consumerStatus -i``: what one client says of itself.

    ``owned`` leaves out dropped queues and is None where the text ends too early; ``popped`` are the topics that it
    consumes by POP, ``in_hand`` the records that it was given so and has not acknowledged; ``strategy`` is one of the
    design's names, or the class if it is none of ours; ``orderly``: whether it consumes in order, None where it does
    not say.
    """

    source: SourceText
    group: str | None
    client_id: str
    owned: tuple[Queue, ...] | None
    popped: tuple[str, ...]
    topics: tuple[str, ...]
    strategy: str | None
    broadcasting: bool | None
    orderly: bool | None
    in_hand: int = 0


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One line of ``consumerProgress`` without -g. ``count`` is the number of connections at one broker."""

    source: SourceText
    group: str
    group_cut: bool
    count: int
    broadcasting: bool | None


@dataclass(frozen=True, slots=True)
class Offline:
    """The tool's answer that no member of the group is connected."""

    source: SourceText
    group: str | None


@dataclass(frozen=True, slots=True)
class BrokerLag:
    """``brokerConsumeStats``: one group's rows; they are those of one broker only."""

    source: SourceText
    group: str
    lag: Mapping[Queue, int]
    topic_width: int
    broker_width: int


@dataclass(frozen=True, slots=True)
class Route:
    """A topic's readable queues. ``preview``: gathered from ``allocateMQ``, whose owners are nobody's real ones."""

    source: SourceText
    topic: str
    queues: tuple[Queue, ...]
    preview: bool


@dataclass(frozen=True, slots=True)
class NoRoute:
    """The name server's answer that it knows no such topic."""

    source: SourceText
    topic: str


GroupFact: TypeAlias = Progress | Connections | Answered | Running | GroupLine | Offline | BrokerLag
Fact: TypeAlias = GroupFact | Route | NoRoute


Value = TypeVar("Value")


class FullNames:
    """Names known in full."""

    def __init__(self, names: Iterable[str]) -> None:
        self._sorted = sorted(set(names))

    def longer(self, cut: str) -> str | None:
        """The one longer name that begins like ``cut``; None if there is none or several."""
        at = bisect_right(self._sorted, cut)
        found = [name for name in self._sorted[at : at + 2] if name.startswith(cut)]
        return found[0] if len(found) == 1 else None

    def complete(self, cut: str) -> str | None:
        """`longer`, but None if ``cut`` itself is a full name."""
        at = bisect_right(self._sorted, cut)
        return None if at and self._sorted[at - 1] == cut else self.longer(cut)

    def of_width(self, name: str, width: int) -> str:
        """``name``, completed if it is as long as the column and so may be cut."""
        return name if len(name) < width else self.complete(name) or name


def complete_queues(
    told: Mapping[Queue, Value], topics: FullNames, brokers: FullNames, topic_width: int, broker_width: int
) -> Mapping[Queue, Value]:
    """What is told of queues, under their full names."""
    if not any(len(topic) >= topic_width or len(broker) >= broker_width for topic, broker, _ in told):
        return told
    return {
        Queue(
            topics.of_width(queue.topic, topic_width), brokers.of_width(queue.broker, broker_width), queue.number
        ): value
        for queue, value in told.items()
    }
