"""Who is there when: members start, join, leave and crash in an order that can be.

A member that the groups list is there from 0s on, unless the first that happens to it is a join; then it is taken out
of the groups, and its fields go into the join. Joins after the first one repeat what the member was, changed by what
they say, so that every join is complete.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from protocols.engine.nodes import Time
from protocols.scenario.events import (
    Commit,
    Crash,
    Disconnect,
    Event,
    Hang,
    Join,
    Leave,
    Restart,
    StopPolling,
    Subscribe,
)
from protocols.scenario.groups import GroupPart, MemberPart
from protocols.scenario.parts import PartError, suggestion
from protocols.scenario.paths import Path
from protocols.scenario.places import MemberKey
from protocols.scenario.telling import in_words
from protocols.scenario.units import duration_text

MEMBER_EVENTS: Mapping[type[Event], str] = {
    Join: "join",
    Leave: "leave",
    Crash: "crash",
    Hang: "hang",
    StopPolling: "stop_polling",
    Restart: "restart",
    Disconnect: "disconnect",
    Commit: "commit",
}
"""Kinds of events that are about one member, and the field that names it."""


def started_as(before: MemberPart | None, event: Join | Restart) -> MemberPart:
    """What a member is when it starts by this event, after it was ``before`` (None: never there).

    Fields that the event leaves out stay as they were; settings are added to those before.
    """
    was = MemberPart() if before is None else before
    changed = {name: getattr(event, name) for name in event.model_fields_set if name in MemberPart.model_fields}
    changed = {name: value for name, value in changed.items() if value is not None}
    if "settings" in changed:
        changed["settings"] = {**was.settings, **event.settings}
    if changed.get("subscribe"):
        changed.setdefault("pattern", None)
    if changed.get("pattern"):
        changed.setdefault("subscribe", ())
    return was.model_copy(update=changed)


class _Life:
    """A member as time goes by."""

    __slots__ = ("is_there", "part", "since", "was_there")

    def __init__(self, part: MemberPart | None) -> None:
        self.part = part
        self.is_there = self.was_there = False
        self.since = ""
        """Why it is there, or is not."""


class Lives:
    """Walks through the events in the order of time and completes them. Raises `PartError` where one cannot be."""

    def __init__(self, groups: Mapping[str, GroupPart], events: Sequence[tuple[Event, Path]]) -> None:
        self._groups = groups
        self._lives: dict[MemberKey, _Life] = {
            MemberKey(group, member): _Life(part)
            for group, each in groups.items()
            for member, part in each.members.items()
        }
        self._groups_of: dict[str, list[str]] = {}
        for key in self._lives:
            self._groups_of.setdefault(key.member, []).append(key.group)
        self._busy: dict[tuple[str, str], Time] = {}
        """What lasts for a while, and the process or member to which it happens, to when it ends."""
        for event, path in events:
            if isinstance(event, Join):
                self._announce(event, path)
        self._processes: dict[str, list[MemberKey]] = {}
        for event, path in events:
            if isinstance(event, Join):
                life = self._lives[self._key(event, event.join, (*path, "join"))]
                life.part = life.part or started_as(None, event)
                life.since = life.since or f"it joins at {duration_text(event.at)}"
        for key in self._lives:
            self._processes.setdefault(self._process(key), []).append(key)
        self._begin(events)

    def starting(self) -> dict[str, GroupPart]:
        """The groups with the members that are there from 0s on. To be called before `completed`."""
        return {
            name: GroupPart(
                members={
                    member: part
                    for member, part in each.members.items()
                    if self._lives[MemberKey(name, member)].is_there
                }
            )
            for name, each in self._groups.items()
        }

    def completed(self, event: Event, path: Path) -> Event:
        """The event with its group and, for a join, with all that the member is. Events come in the order of time."""
        if isinstance(event, Subscribe):
            return self._subscribe(event, path)
        field = MEMBER_EVENTS.get(type(event))
        if field is None:
            return event
        name: str = getattr(event, field)
        key = self._key(event, name, (*path, field))
        life = self._lives[key]
        if isinstance(event, Join | Restart):
            return self._start(event, key, life, (*path, field))
        if not life.is_there:
            raise PartError((*path, field), f"{name} does not run at {duration_text(event.at)}: {life.since}")
        if isinstance(event, Hang | StopPolling):
            who = self._process(key) if isinstance(event, Hang) else f"{key.group}/{name}"
            self._last(event, field, who, name, (*path, field))
        if isinstance(event, Crash):
            for each in self._processes[self._process(key)]:
                self._gone(self._lives[each], event)
            self._busy.pop(("hang", self._process(key)), None)
        elif isinstance(event, Leave):
            self._gone(life, event)
        return event.model_copy(update={"group": key.group})

    def _announce(self, event: Join, path: Path) -> None:
        """Members that only a join tells of are known from the beginning."""
        found = self._groups_of.setdefault(event.join, [])
        if event.group is None and not found:
            if len(self._groups) != 1:
                expected = f"expected group: one of {', '.join(self._groups)}"
                raise PartError((*path, "join"), f"{event.join} joins no group, {expected}")
            group = next(iter(self._groups))
        else:
            group = event.group or found[0]
        if group not in self._groups:
            raise PartError((*path, "group"), f"unknown group {group!r}, {suggestion(group, self._groups)}")
        key = MemberKey(group, event.join)
        if key not in self._lives:
            if event.subscribe is None and event.pattern is None:
                raise PartError((*path, "join"), f"{event.join} joins without subscribe: [topic, ...] or pattern: ...")
            self._lives[key] = _Life(None)
            found.append(group)

    def _key(self, event: Event, name: str, path: Path) -> MemberKey:
        groups = self._groups_of.get(name, [])
        if event.group is not None:
            if event.group not in self._groups:
                expected = suggestion(event.group, self._groups)
                raise PartError((*path[:2], "group"), f"unknown group {event.group!r}, {expected}")
            groups = [each for each in groups if each == event.group]
        if not groups:
            where = "" if event.group is None else f" in group {event.group}"
            members = [key.member for key in self._lives if event.group in (None, key.group)]
            raise PartError(path, f"unknown member {name!r}{where}, {suggestion(name, members)}")
        if len(groups) > 1:
            raise PartError(path, f"member {name!r} is in several groups, expected group: one of {', '.join(groups)}")
        return MemberKey(groups[0], name)

    def _process(self, key: MemberKey) -> str:
        """The name of the member's process, as `Places` has it."""
        part = self._lives[key].part
        if part is not None and part.process is not None:
            return part.process
        return key.member if len(self._groups_of[key.member]) == 1 else f"{key.group}/{key.member}"

    def _begin(self, events: Sequence[tuple[Event, Path]]) -> None:
        listed = {MemberKey(group, member) for group, each in self._groups.items() for member in each.members}
        seen: set[MemberKey] = set()
        for event, path in events:
            field = MEMBER_EVENTS.get(type(event))
            if field is None:
                named = tuple(event.subscribe) if isinstance(event, Subscribe) else ()
            else:
                named = (getattr(event, field),)
            for name in named:
                key = self._key(event, name, (*path, field or "subscribe", *(() if field else (name,))))
                if key not in seen:
                    seen.add(key)
                    if isinstance(event, Join):
                        listed.discard(key)
        for key, life in self._lives.items():
            if key in listed:
                life.is_there, life.was_there, life.since = True, True, "it runs from 0s on"

    def _start(self, event: Join | Restart, key: MemberKey, life: _Life, path: Path) -> Event:
        name, process = key.member, self._process(key)
        if isinstance(event, Join) and life.is_there:
            raise PartError(path, f"{name} joins at {duration_text(event.at)} while it is a member: {life.since}")
        if isinstance(event, Restart) and not life.was_there:
            raise PartError(path, f"{name} restarts at {duration_text(event.at)} but never ran before: {life.since}")
        killed = isinstance(event, Restart) and event.how == "crash"
        if not killed and self._busy.get(("hang", process), 0.0) > event.at:
            until = duration_text(self._busy["hang", process])
            raise PartError(path, f"{name} hangs until {until}: only restart with how: crash starts it before")
        if isinstance(event, Join) and event.process is not None and life.part and life.part.process != event.process:
            raise PartError((*path[:-1], "process"), f"{name} had another process before, expected the same or none")
        if killed:
            self._busy.pop(("hang", process), None)
        life.part = started_as(life.part, event)
        life.is_there, life.was_there, life.since = True, True, f"{in_words(event)} at {duration_text(event.at)}"
        changes: dict[str, Any] = {"group": key.group}
        if isinstance(event, Join):
            changes |= {field: getattr(life.part, field) for field in MemberPart.model_fields}
        return event.model_copy(update=changes)

    def _subscribe(self, event: Subscribe, path: Path) -> Event:
        groups = set()
        for name, topics in event.subscribe.items():
            inside = (*path, "subscribe", name)
            key = self._key(event, name, inside)
            life = self._lives[key]
            if not life.is_there or life.part is None:
                raise PartError(inside, f"{name} does not run at {duration_text(event.at)}: {life.since}")
            life.part = life.part.model_copy(update={"subscribe": topics, "pattern": None})
            groups.add(key.group)
        if len(groups) > 1:
            raise PartError((*path, "subscribe"), "members of several groups, expected an event for each group")
        return event.model_copy(update={"group": groups.pop()}) if groups else event

    def _last(self, event: Hang | StopPolling, field: str, who: str, name: str, path: Path) -> None:
        until = self._busy.get((field, who), 0.0)
        if until > event.at:
            raise PartError(
                path, f"{name} is still in the previous one until {duration_text(until)}, expected a later time"
            )
        self._busy[field, who] = event.at + event.for_

    def _gone(self, life: _Life, event: Event) -> None:
        if life.is_there:
            life.is_there, life.since = False, f"{in_words(event)} at {duration_text(event.at)}"
