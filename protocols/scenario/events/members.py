"""A member starts: for the first time, or again.

A member is gone: it closed, or its process was killed.

A member pauses for a while: its whole process, or the user's code alone.

A member takes longer for its records for a while.

Members read other topics than before.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from protocols.engine.nodes import Time
from protocols.scenario.events.base import ClusterState, Event, MemberChange
from protocols.scenario.fields import Duration, EachMember, MemberPart, Settings, duration_text, listed, listed_members
from protocols.scenario.shorthands import check_subscription, each_name, names, with_names
from protocols.scenario.validation import PartError, Path, mapping, validated


class _Joining(Event):
    join: EachMember
    """The member; if it joins again, fields that the event omits keep their former values."""
    like: str | None = None
    """Another member, whose fields it has where the event says nothing else; ``process`` and ``instance_id`` are its
    own."""


class Join(MemberPart, _Joining):
    """A member starts (first, or again after it left)."""

    subscribe: tuple[str, ...] | None = None  # type: ignore[assignment]  # an event may leave it out

    example: ClassVar[str] = "{at: 10s, join: c3, subscribe: [orders], strategy: 'cooperative-sticky,range'}"
    member_change = MemberChange.JOINS

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        made = validated(cls, with_names(fields, path), path)
        check_subscription(made.subscribe, made.pattern, path)
        return made

    def what(self, several: bool) -> str:
        return "join" if several else "joins"

    def check(self, there: ClusterState, path: Path) -> None:
        there.need_strategies(self.strategy, path)

    def taken_from(self) -> str | None:
        return self.like

    def process_of_members(self) -> str | None:
        return self.process

    def part_after(self, member: str, before: MemberPart | None) -> MemberPart:
        return started_as(before, self)

    def completed(self, group: str, members: Mapping[str, MemberPart | None]) -> Self:
        part = members[self.join]
        fields = {field: getattr(part, field) for field in MemberPart.model_fields}
        removed = {name: None for name, value in self.settings.items() if value is None}
        return self.model_copy(
            update={"group": group, "like": None, **fields, "settings": {**fields["settings"], **removed}}
        )


class Restart(Event):
    """A member that crashed, left or runs starts again as a new process: where it runs it is closed properly first
    (``how: leave``) or killed (``how: crash``). ``strategy`` and ``settings`` change what it runs with."""

    restart: EachMember
    """The member."""
    how: Literal["leave", "crash"] = "leave"
    """How a running member ends. A crash also restarts the others in its process."""
    strategy: str | None = None
    """The member's own assignor or strategy from now on; several with commas."""
    settings: Settings = Field(default_factory=dict)
    """Settings added to its former ones; null removes one."""

    example: ClassVar[str] = "{at: 100s, restart: c2, strategy: cooperative-sticky}"
    member_change = MemberChange.RESTARTS

    def what(self, several: bool) -> str:
        how = " after a kill" if self.how == "crash" else ""
        return f"{'restart' if several else 'restarts'}{how}" + (f" with {self.strategy}" if self.strategy else "")

    def check(self, there: ClusterState, path: Path) -> None:
        there.need_strategies(self.strategy, path)

    def strikes_process(self) -> bool:
        return self.how == "crash"

    def part_after(self, member: str, before: MemberPart | None) -> MemberPart:
        return started_as(before, self)


_OF_A_MEMBER = frozenset(MemberPart.model_fields)


def started_as(before: MemberPart | None, event: Join | Restart) -> MemberPart:
    """What a member is when it starts by this event, after it was ``before`` (None: never there).

    Fields that the event leaves out stay as they were; settings are added to those before, and what is null is removed.
    """
    was = MemberPart() if before is None else before
    changed = {name: getattr(event, name) for name in event.model_fields_set if name in _OF_A_MEMBER}
    changed = {name: value for name, value in changed.items() if value is not None}
    if "settings" in changed:
        settings = {**was.settings, **event.settings}
        changed["settings"] = {name: value for name, value in settings.items() if value is not None}
    if changed.get("subscribe"):
        changed.setdefault("pattern", None)
        changed["resolved_by"] = "client"
    if changed.get("pattern"):
        changed.setdefault("subscribe", ())
    return was.model_copy(update=changed)


class Leave(Event):
    """A member closes properly (Kafka's close(), RocketMQ's shutdown())."""

    leave: EachMember
    """The member."""

    example: ClassVar[str] = "{at: 110s, leave: c3}"
    member_change = MemberChange.ENDS

    def what(self, several: bool) -> str:
        return "leave" if several else "leaves"


class Crash(Event):
    """A member's process is killed: its connections close, without any message to others."""

    crash: EachMember
    """The member; others in its process crash with it."""

    example: ClassVar[str] = "{at: 60s, crash: c2}"
    member_change = MemberChange.ENDS
    acts_late = True

    def what(self, several: bool) -> str:
        return "crash" if several else "crashes"

    def strikes_process(self) -> bool:
        return True


class Lose(Event):
    """A member's machine is gone: its process ends, but nothing closes its connections, so that others notice by their
    timeouts alone."""

    lose: EachMember
    """The member; others in its process go with it."""

    example: ClassVar[str] = "{at: 200s, lose: c4}"
    member_change = MemberChange.ENDS
    acts_late = True

    def what(self, several: bool) -> str:
        return "lose their machines" if several else "loses its machine"

    def members(self) -> Mapping[str, Path]:
        return {self.lose: ("lose",)}

    def strikes_process(self) -> bool:
        return True


class Hang(Event):
    """A member's process freezes; its connections stay open; then it resumes as the owner of its queues."""

    hang: EachMember
    """The member; others in its process hang with it."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 90s, hang: c1, for: 40s}"
    member_change = MemberChange.PAUSES
    acts_late = True

    def what(self, several: bool) -> str:
        return f"{'hang' if several else 'hangs'} for {duration_text(self.for_)}"

    def strikes_process(self) -> bool:
        return True

    def lasts(self) -> Time:
        return self.for_


class StopPolling(Event):
    """A member's user loop hangs for a while; the client's background work continues."""

    stop_polling: EachMember
    """The member."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 95s, stop_polling: c1, for: 6min}"
    member_change = MemberChange.PAUSES
    acts_late = True

    def what(self, several: bool) -> str:
        return f"{'stop' if several else 'stops'} polling for {duration_text(self.for_)}"

    def lasts(self) -> Time:
        return self.for_


class Slow(Event):
    """Members take so long for each record for a while, then their own time again, as when a database answers slowly. A
    process that is restarted meanwhile has its own time."""

    slow: dict[str, Duration]
    """Member (or a range of them) to how long its code takes for one record."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 60s, slow: {c1: 200ms}, for: 5min}"
    member_change = MemberChange.SLOWS
    acts_late = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "slow")
        takes: dict[str, object] = {}
        for written, each in mapping(fields["slow"], inside).items():
            for name, _ in each_name(written, (*inside, written)):
                if name in takes:
                    raise PartError((*inside, written), f"{name!r} appears twice, expected each name once")
                takes[str(name)] = each
        if not takes:
            raise PartError(inside, "nobody, expected at least one member and its time, such as {p8: 200ms}")
        return validated(cls, {**fields, "slow": takes}, path)

    def describe(self) -> str:
        by_time: dict[Time, list[str]] = {}
        for member, takes in self.slow.items():
            by_time.setdefault(takes, []).append(member)
        told = [
            f"{listed_members(members)} {'takes' if len(members) == 1 else 'take'} {duration_text(takes)} a record"
            for takes, members in by_time.items()
        ]
        return f"{listed(told)} for {duration_text(self.for_)}"

    def members(self) -> Mapping[str, Path]:
        return {member: ("slow", member) for member in self.slow}

    def lasts(self) -> Time:
        return self.for_


class Subscribe(Event):
    """Members change their subscription at run time."""

    subscribe: dict[str, tuple[str, ...]]
    """Member to all the topics that it subscribes to from now on."""

    example: ClassVar[str] = "{at: 150s, subscribe: {c1: [orders, payments], c4: [orders]}}"
    changes_topics = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "subscribe")
        chosen = mapping(fields["subscribe"], inside)
        topics = {member: names(each, (*inside, member)) for member, each in chosen.items()}
        return validated(cls, {**fields, "subscribe": topics}, path)

    def describe(self) -> str:
        return listed(
            f"{member} subscribes to {listed(topics) if topics else 'nothing'}"
            for member, topics in self.subscribe.items()
        )

    def members(self) -> Mapping[str, Path]:
        return {member: ("subscribe", member) for member in self.subscribe}

    def part_after(self, member: str, before: MemberPart | None) -> MemberPart:
        was = MemberPart() if before is None else before
        return was.model_copy(update={"subscribe": self.subscribe[member], "pattern": None})
