"""What an event of a scenario declares: its fields, and what it means to everything that reads scenarios.

A kind of event is one class in this package, known once it is registered here. It overrides what applies to it and
leaves out the rest; nothing outside asks which class an event is of but the clusters, which apply it. Events are
checked one by one against what is there when they happen, as far as a scenario alone says.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, ClassVar, Self, TypeAlias, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from protocols.engine.nodes import Time
from protocols.scenario.fields import EACH_MEMBER, Duration, MemberPart, NamedCount, Part, listed_members
from protocols.scenario.shorthands import each_name
from protocols.scenario.validation import PartError, Path, field_names, mapping, short, suggestion, validated


@dataclass(slots=True)
class ClusterState:
    """Brokers, topics and processes at the time of an event; which members are there is known to
    `protocols.scenario.membership`."""

    groups: Collection[str]
    brokers: Sequence[str]
    servers: Sequence[str]
    """Brokers, controllers that are none, and slaves."""
    infrastructure: Sequence[str]
    """Servers that are no brokers."""
    processes: Sequence[str]
    """Those of members."""
    process_names: Collection[str]
    """Every name by which an event may mean a process."""
    strategies: Sequence[str] | None
    """Those of all systems; None: any name will do."""
    topics: dict[str, Mapping[str, int]]
    """Topic to its queues per broker."""
    down: set[str] = field(default_factory=set)
    """Brokers that do not run."""

    def change(self, queues: Mapping[str, Mapping[str, int] | None], brokers: Mapping[str, bool]) -> None:
        """Topics have other queues (None: are deleted), brokers run or do not run any more."""
        for topic, per_broker in queues.items():
            if per_broker is None:
                del self.topics[topic]
            else:
                self.topics[topic] = per_broker
        for broker, runs in brokers.items():
            (self.down.discard if runs else self.down.add)(broker)

    def need_topic(self, topic: str, path: Path) -> None:
        """Raises `PartError` where the topic is not there."""
        if topic not in self.topics:
            raise PartError(path, f"unknown topic {topic!r}, {suggestion(topic, self.topics)}")

    def need_strategies(self, named: str | None, path: Path) -> None:
        """Raises `PartError` for a strategy (several with commas) that no system has."""
        need_strategies(named, self.strategies, path)


def need_server(name: str, servers: Iterable[str], path: Path) -> None:
    if name not in servers:
        raise PartError(path, f"unknown broker {name!r}, {suggestion(name, servers)}")


def need_strategies(named: str | None, strategies: Sequence[str] | None, path: Path) -> None:
    """Raises `PartError` where a member's own strategies (``named``, several with commas) are not among these; None
    for ``strategies``: any name will do."""
    if named is None or strategies is None:
        return
    for name in named.split(","):
        if name.strip() not in strategies:
            raise PartError((*path, "strategy"), f"unknown strategy {name.strip()!r}, {suggestion(name, strategies)}")


class MemberChange(Enum):
    """What becomes of the members that an event names."""

    NONE = "a member that is there stays there"
    JOINS = "a member that is not there is there from now on, whether it was known before or not"
    RESTARTS = "a member that is or was there begins anew"
    ENDS = "a member that is there is gone"
    PAUSES = "a member that is there stands still for a while"
    SLOWS = "a member that is there takes longer for its records for a while"


class Event(Part):
    """Something that happens. Every event has:"""

    at: Duration
    """When, from the beginning of the run."""
    group: str | None = None
    """The group of the member, where its name is not unique."""

    example: ClassVar[str]
    """The event as one writes it, for the reference."""
    member_change: ClassVar[MemberChange] = MemberChange.NONE
    """What becomes of `members`."""
    can_rebalance: ClassVar[bool] = True
    """False for what never makes a group share its queues anew."""
    acts_late: ClassVar[bool] = False
    """True for what may make a group share anew much later, as a session that runs out."""
    changes_topics: ClassVar[bool] = False
    """True for what changes topics, their queues, or who reads them."""
    resets_offsets: ClassVar[bool] = False
    """True for what sets committed offsets of a group."""
    writes_records: ClassVar[bool] = False
    """True for what `written` tells of."""
    may_be_refused: ClassVar[bool] = False
    """True for what some system cannot do: its cluster says so when it is made."""

    # How it is written.

    @classmethod
    def kind_name(cls) -> str:
        """The field that says what happens, the first one of its own: ``join``, ``crash``."""
        return list(cls.model_fields)[len(Event.model_fields)]

    @classmethod
    def takes_several(cls) -> bool:
        """Whether a list or a range of names in its first field means one such event of each."""
        return EACH_MEMBER in cls.model_fields[cls.kind_name()].metadata

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        """The event from what somebody wrote, shorthands among it. Raises `PartError` for what it cannot be."""
        return validated(cls, fields, path)

    def plain(self, path: Path) -> Sequence["Written"]:
        """The events that it stands for, in the order in which they happen; an event is itself, a shorthand others.
        Raises `PartError` where a shorthand cannot be."""
        return (Written(self, path),)

    def describe(self) -> str:
        """What happens, in a few words without the time: "c3 joins", "c1 hangs for 40s"."""
        (member,) = self.members()
        return f"{member} {self.what(several=False)}"

    def what(self, several: bool) -> str | None:
        """What one member ("hangs for 40s") or several of them ("hang for 40s") do; None where the event is not of one
        member alone. Equal words mean equal events, but for the member."""
        return None

    def check(self, there: ClusterState, path: Path) -> None:
        """Raises `PartError` where the event cannot happen. Members are no concern of it: `member_change` says what
        must be."""

    # Whom it is about.

    def members(self) -> Mapping[str, Path]:
        """The members that it names, and in which of its fields: the first one, where that holds a member."""
        field = self.kind_name()
        return {getattr(self, field): (field,)} if self.takes_several() else {}

    def strikes_process(self) -> bool:
        """Whether all members of the process have the fate of the one that is named."""
        return False

    def taken_from(self) -> str | None:
        """The member like which the one is that starts, where the event says nothing else."""
        return None

    def process_of_members(self) -> str | None:
        """The process in which members live from now on that it starts; None: each in the one that it had, or in one of
        its own."""
        return None

    def lasts(self) -> Time:
        """For how long it lasts (a member stands still, the network fails), in milliseconds."""
        return 0.0

    def refers_to(self) -> Sequence[Time]:
        """Other moments of the run that it names, in milliseconds."""
        return ()

    def part_after(self, member: str, before: MemberPart | None) -> MemberPart | None:
        """What a member that the event names is from now on, after it was ``before`` (None: never there)."""
        return before

    def completed(self, group: str, members: Mapping[str, MemberPart | None]) -> Self:
        """The event with all that is known once everything before it has happened: the group of its members, and what
        each of them is from now on."""
        return self.model_copy(update={"group": group})

    # What else it changes.

    def processes(self) -> Sequence[str]:
        """Names of processes, of members or of servers, that it is about beside `members`."""
        return ()

    def written(self, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
        """How many records each queue gets at once. ``topics``: topic to its queues per broker."""
        return ()

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        """Topic to its queues per broker from now on; None for one that is deleted."""
        return {}

    def broker_changes(self) -> Mapping[str, bool]:
        """Broker to whether it runs from now on."""
        return {}


@dataclass(frozen=True, slots=True)
class Written:
    """An event, and where in the scenario somebody wrote it."""

    event: Event
    path: Path
    """Where the event, or the shorthand that means it, is."""
    name: Path | None = None
    """Where its member's name is, from ``path`` on; None: in the event's own fields."""
    shorthand: bool = False
    """Whether its time is not written, but follows from what is."""

    def members(self) -> dict[str, Path]:
        """The members that it names, and where each name is written."""
        return {name: (*self.path, *(self.name or field)) for name, field in self.event.members().items()}


E = TypeVar("E", bound=Event)

_KINDS: dict[str, type[Event]] = {}

EVENT_KINDS: Mapping[str, type[Event]] = MappingProxyType(_KINDS)
"""The field that says what happens (``join``, ``crash``, ...) to the kind of event, in the order of the reference."""

_TELL_NO_KIND = ("at", "group", "for", "strategy", "settings", "how", "does", "gap", "downtime", "surge", "at_once")
"""Fields that are taken for a part of an event whose kind is left out, and not for an unknown kind."""


def register(kind: type[E]) -> type[E]:
    """Makes a kind of event known; usable as a decorator. Raises `ValueError` where its name is another's."""
    name = kind.kind_name()
    if name in _KINDS:
        raise ValueError(f"there is an event {name!r} already: expected another first field of {kind.__name__}")
    _KINDS[name] = kind
    return kind


def unregister(kind: type[Event]) -> None:
    del _KINDS[kind.kind_name()]


def read_events(given: object, brokers: Sequence[str], path: Path) -> Sequence[Written]:
    """An event as it is written, or the plain events that it means: one of each member where it names several, those of
    a shorthand. What it is called by says which kind it is. Raises `PartError`."""
    if isinstance(given, Event):
        return given.plain(path)
    fields = mapping(given, path)
    kind = _kind(fields, path)
    field = kind.kind_name()
    if not kind.takes_several():
        return kind.read(fields, brokers, path).plain(path)
    return [
        Written(kind.read({**fields, field: member}, brokers, path), path, (field, *item))
        for member, item in each_name(fields[field], (*path, field))
    ]


def _kind(fields: Mapping[str, object], path: Path) -> type[Event]:
    found = [name for name in _KINDS if name in fields]
    kinds = [name for name in found if not any(name in field_names(_KINDS[other]) for other in found if other != name)]
    if len(kinds) == 1:
        return _KINDS[kinds[0]]
    if kinds:
        raise PartError((*path, kinds[1]), f"{kinds[0]} and {kinds[1]} in one event, expected one thing that happens")
    others = [name for name in fields if name not in _TELL_NO_KIND]
    if others:
        raise PartError((*path, others[0]), f"unknown event {short(others[0])}, {suggestion(others[0], _KINDS)}")
    raise PartError(path, f"nothing happens, expected one of {', '.join(_KINDS)}")


class _AnyKind:
    """Tells pydantic that a field holds events of all kinds that are known when it is asked."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(kind.__pydantic_core_schema__) for kind in _KINDS.values()]}


AnyEvent: TypeAlias = Annotated[Event, _AnyKind()]
"""An event of any kind, as the type of a field."""


def _validated(given: object) -> Event:
    try:
        return given if isinstance(given, Event) else _kind(fields := mapping(given, ()), ()).model_validate(fields)
    except PartError as error:
        raise ValueError(error.problem) from None


def described(events: Iterable[Event]) -> list[str]:
    """What happens, in the order given; equal events of several members that follow each other are one: "c3 joins",
    "c1, c2 and c3 crash", "c1 to c8 hang for 40s"."""
    told: list[str] = []
    for (_, _, what), equal in groupby(events, lambda event: (type(event), event.group, event.what(several=True))):
        same = list(equal)
        if what is None or len(same) == 1:
            told += [event.describe() for event in same]
        else:
            told.append(f"{listed_members([name for event in same for name in event.members()])} {what}")
    return told
