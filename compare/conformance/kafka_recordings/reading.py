"""A recording as its JSON file has it, checked: see captures/kafka/INDEX.md, section "traces/".

Times are milliseconds since the scenario's start and may be a little negative. A partition is written
``topic:number``. What is not compared is not read.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt

from compare.conformance.cases import Line, MalformedCase
from compare.conformance.validated import validated
from protocols.java import Queue


def _queue(given: object) -> Queue:
    topic, colon, number = given.rpartition(":") if isinstance(given, str) else ("", "", "")
    if not colon or not number.isdecimal():
        raise ValueError("expected a partition written topic:number")
    return Queue(topic, "", int(number))


Partition = Annotated[Queue, BeforeValidator(_queue)]

MOST_MS, MOST_COUNT, MOST_RATE = 3_600_000, 10_000, 1_000_000
"""A recording that is longer, or has more partitions or records, is damaged rather than recorded."""

Milliseconds = Annotated[float, Field(ge=-MOST_MS, le=MOST_MS)]

Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)


class Member(_Part):
    """A client that took part: its kind, the group protocol, its settings under its own names."""

    client: str
    protocol: str
    settings: dict[str, object]


class Described(_Part):
    """A member as the group's description shows it: ``client`` is its client id."""

    id: str
    client: str
    tp: tuple[Partition, ...]


class Group(_Part):
    """The group's description; without members where it was not found."""

    state: str = ""
    assignor: str = ""
    group_epoch: int | None = None
    """None: a classic group."""
    members: tuple[Described, ...] = ()


class Event(_Part):
    """What happened at ``ms``. Which of the other fields are there depends on ``ev``."""

    ms: Milliseconds
    ev: str
    what: str = ""
    member: str = ""
    tp: tuple[Partition, ...] = ()
    all: tuple[Partition, ...] | None = None
    gen: int | None = None
    member_id: str | None = None
    topic: str = ""
    to: Count = 0
    topics: tuple[str, ...] = ()
    log: str = ""
    g: Group | None = None


class PartitionFigures(_Part):
    """Of one partition, times in milliseconds after its first owner. None: it never had one."""

    first_owned_ms: Milliseconds | None
    unowned_ms: Milliseconds
    longest_unowned_ms: Milliseconds
    double_owned_ms: Milliseconds
    records_delivered_again: NonNegativeInt
    longest_silence_ms: Milliseconds | None


class Totals(_Part):
    """Over all partitions."""

    partitions: NonNegativeInt
    unowned_partition_ms: float
    double_owned_partition_ms: float
    longest_unowned_ms: Milliseconds
    records_delivered_again: NonNegativeInt
    partitions_revoked: NonNegativeInt
    partitions_lost: NonNegativeInt
    callbacks: NonNegativeInt


class Recording(_Part):
    """One recorded scenario. ``topics``: partitions at its end."""

    scenario: str
    group: str
    topics: dict[str, Count]
    rate: float = Field(ge=0, le=MOST_RATE, alias="records_per_second_per_partition")
    members: dict[str, Member]
    group_config: dict[str, Annotated[int, Field(ge=0, le=MOST_MS)]] | None = None
    """The group's own settings at the coordinator; None: the broker's hold."""
    totals: Totals
    per_partition: dict[str, PartitionFigures]
    events: tuple[Event, ...]

    @property
    def end(self) -> float:
        """When the script ended."""
        return self.events[-1].ms

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds, in order."""
        return [event for event in self.events if event.ev in kinds]


OF_MEMBERS = ("started", "closing", "closed", "paused", "resumed", "revoked", "assigned", "lost", "subscribe")
"""Kinds of events that name a member."""

KINDS = ("step", *OF_MEMBERS, "group", "committed", "broker", "error", "rebalancing")
"""Kinds of events that there are."""


def recognises(line: Line) -> bool:
    """Whether the line is meant to be a recording of a Kafka cluster."""
    return {"events", "per_partition", "group"} <= line.keys()


def read(line: Line) -> Recording:
    """The recording, its events by time up to the script's end. Raises `MalformedCase` naming the field at fault."""
    recording = validated(Recording, line)
    for number, event in enumerate(recording.events):
        if event.ev not in KINDS:
            raise MalformedCase(f"events.{number}.ev", f"one of {', '.join(KINDS)}", event.ev)
        if event.member not in recording.members and (event.ev in OF_MEMBERS or event.member):
            raise MalformedCase(f"events.{number}.member", "one of the members", event.member)
    events = sorted(recording.events, key=lambda event: event.ms)
    ends = [event.ms for event in events if event.ev == "step" and event.what == "end"]
    if len(ends) != 1:
        raise MalformedCase("events", "one step that is called end", len(ends))
    last = next(number for number, event in enumerate(events) if event.what == "end" and event.ev == "step")
    return recording.model_copy(update={"events": tuple(events[: last + 1])})
