"""Who is there when: members start, join, leave and crash in an order that can be.

A member that the groups list is there from 0s on, unless the first that happens to it is a join; then it is taken out
of the groups, and its fields go into the join. Joins after the first one repeat what the member was, changed by what
they say, so that every join is complete.
"""

from collections.abc import Mapping, Sequence

from protocols.engine.nodes import Time
from protocols.scenario.events.base import Event, MemberChange, Written
from protocols.scenario.fields import GroupPart, MemberPart, Settings, duration_text
from protocols.scenario.topology import MemberKey
from protocols.scenario.validation import PartError, Path, suggestion


class _Member:
    """A member as time goes by."""

    def __init__(self, part: MemberPart | None) -> None:
        self.part = part
        self.is_there = self.was_there = False
        self.since = ""
        """Why it is there, or is not."""

    def start(self, since: str) -> None:
        self.is_there, self.was_there, self.since = True, True, since

    def end(self, since: str) -> None:
        if self.is_there:
            self.is_there, self.since = False, since


class Membership:
    """Walks through the events in the order of time and completes them. Raises `PartError` where one cannot be."""

    def __init__(
        self, groups: Mapping[str, GroupPart], events: Sequence[Written], for_all: Mapping[str, Settings]
    ) -> None:
        """``for_all``: group to the settings of every member that has not its own, also of those that join."""
        self._groups = groups
        self._for_all = for_all
        self._members: dict[MemberKey, _Member] = {
            MemberKey(group, member): _Member(part)
            for group, each in groups.items()
            for member, part in each.members.items()
        }
        self._groups_of: dict[str, list[str]] = {}
        for key in self._members:
            self._groups_of.setdefault(key.member, []).append(key.group)
        self._stopped: dict[str, Time] = {}
        """Process that stands still, to when it goes on."""
        self._paused: dict[tuple[str, MemberKey], Time] = {}
        """What keeps a member busy, and the member, to when it is over."""
        joins = [event for event in events if event.event.member_change is MemberChange.JOINS]
        for join in joins:
            for name, path in join.members().items():
                self._announce(join, name, path)
        for join in joins:
            for name, path in join.members().items():
                member = self._members[self._key(join, name, path)]
                member.part = member.part or join.event.part_after(name, None)
                member.since = member.since or f"it joins at {duration_text(join.event.at)}"
        self._processes: dict[str, list[MemberKey]] = {}
        for key in self._members:
            self._processes.setdefault(self._process(key), []).append(key)
        self._begin(events)

    def starting(self) -> dict[str, GroupPart]:
        """The groups with the members that are there from 0s on. To be called before `completed`."""
        return {
            name: GroupPart(
                members={
                    member: part
                    for member, part in group.members.items()
                    if self._members[MemberKey(name, member)].is_there
                },
                settings=group.settings,
            )
            for name, group in self._groups.items()
        }

    def completed(self, written: Written) -> Event:
        """The event with its group and, for a join, with all that the member is. Events come in the order of time."""
        event = written.event
        groups: dict[str, None] = {}
        parts: dict[str, MemberPart | None] = {}
        for name, path in written.members().items():
            key = self._key(written, name, path)
            member = self._members[key]
            after = event.part_after(name, self._before(written, key, path))
            if event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS):
                self._start(written, key, after, path)
            elif not member.is_there:
                raise PartError(path, f"{name} does not run at {duration_text(event.at)}: {member.since}")
            elif event.member_change in (MemberChange.PAUSES, MemberChange.SLOWS):
                self._pause(event, key, path)
            elif event.member_change is MemberChange.ENDS:
                self._end(event, key)
            groups[key.group], parts[name], member.part = None, after, after
        if len(groups) > 1:
            field, *_ = event.members().values()
            raise PartError((*written.path, field[0]), "members of several groups, expected an event for each group")
        return event.completed(next(iter(groups)), parts) if groups else event

    def _announce(self, written: Written, name: str, path: Path) -> None:
        """Members that only a join tells of are known from the beginning."""
        event = written.event
        found = self._groups_of.setdefault(name, [])
        if event.group is None and not found:
            possible = self._groups_of.get(event.taken_from() or "") or list(self._groups)
            if len(possible) != 1:
                raise PartError(path, f"{name} joins no group, expected group: one of {', '.join(self._groups)}")
            (group,) = possible
        else:
            group = event.group or found[0]
        if group not in self._groups:
            raise PartError((*written.path, "group"), f"unknown group {group!r}, {suggestion(group, self._groups)}")
        key = MemberKey(group, name)
        if key not in self._members:
            part = event.part_after(name, MemberPart(settings=self._for_all.get(group, {})))
            if event.taken_from() is None and not (part and {"subscribe", "pattern"} & part.model_fields_set):
                raise PartError(path, f"{name} joins without subscribe: [topic, ...] or pattern: ...")
            self._members[key] = _Member(part)
            found.append(group)

    def _before(self, written: Written, key: MemberKey, path: Path) -> MemberPart | None:
        """What a member is before an event: what it was, or what the one is like which it starts."""
        like, own = written.event.taken_from(), self._members[key].part
        if like is None or own is None:
            return own
        other = self._members[self._key(written, like, path if written.shorthand else (*written.path, "like"))].part
        if other is None or not {"subscribe", "pattern"} & other.model_fields_set:
            raise PartError(path, f"{key.member} is like {like}, which was never there, expected a member before it")
        if other.instance_id is not None and own.instance_id is None:
            raise PartError(
                path,
                f"{key.member} would fence {like}, whose instance_id {other.instance_id!r} it has, expected another"
                " instance_id (join), or no surge (rolling)",
            )
        return other.model_copy(update={"process": own.process, "instance_id": own.instance_id})

    def _key(self, written: Written, name: str, path: Path) -> MemberKey:
        event = written.event
        groups = self._groups_of.get(name, [])
        if event.group is not None:
            if event.group not in self._groups:
                expected = suggestion(event.group, self._groups)
                raise PartError((*written.path, "group"), f"unknown group {event.group!r}, {expected}")
            groups = [group for group in groups if group == event.group]
        if not groups:
            where = "" if event.group is None else f" in group {event.group}"
            members = [key.member for key in self._members if event.group in (None, key.group)]
            raise PartError(path, f"unknown member {name!r}{where}, {suggestion(name, members)}")
        if len(groups) > 1:
            raise PartError(path, f"member {name!r} is in several groups, expected group: one of {', '.join(groups)}")
        return MemberKey(groups[0], name)

    def _process(self, key: MemberKey) -> str:
        """The name of the member's process, as `protocols.scenario.topology` has it."""
        part = self._members[key].part
        if part is not None and part.process is not None:
            return part.process
        return key.member if len(self._groups_of[key.member]) == 1 else f"{key.group}/{key.member}"

    def _begin(self, events: Sequence[Written]) -> None:
        """Members that are listed are there from 0s on, but those to whom a join happens first."""
        listed = {MemberKey(group, member) for group, each in self._groups.items() for member in each.members}
        seen: set[MemberKey] = set()
        for event in events:
            for name, path in event.members().items():
                key = self._key(event, name, path)
                if key not in seen:
                    seen.add(key)
                    if event.event.member_change is MemberChange.JOINS:
                        listed.discard(key)
        for key, member in self._members.items():
            if key in listed:
                member.start("it runs from 0s on")

    def _start(self, written: Written, key: MemberKey, after: MemberPart | None, path: Path) -> None:
        event, name, process, member = written.event, key.member, self._process(key), self._members[key]
        if event.member_change is MemberChange.JOINS and member.is_there:
            raise PartError(path, f"{name} joins at {duration_text(event.at)} while it is a member: {member.since}")
        if event.member_change is MemberChange.RESTARTS and not member.was_there:
            raise PartError(path, f"{name} restarts at {duration_text(event.at)} but never ran before: {member.since}")
        if event.strikes_process():
            self._stopped.pop(process, None)
        elif self._stopped.get(process, 0.0) > event.at:
            until = duration_text(self._stopped[process])
            raise PartError(path, f"{name} hangs until {until}: only restart with how: crash starts it before")
        if member.part is not None and after is not None and after.process != member.part.process:
            raise PartError((*written.path, "process"), f"{name} had another process before, expected the same or none")
        member.start(_since(event))

    def _pause(self, event: Event, key: MemberKey, path: Path) -> None:
        """A member or its whole process stands still, or is slow; never twice at one time by one kind of event."""
        process, by_itself = self._process(key), (event.kind_name(), key)
        until = self._stopped.get(process, 0.0) if event.strikes_process() else self._paused.get(by_itself, 0.0)
        if until > event.at:
            again = f"is still in the previous one until {duration_text(until)}, expected a later time"
            raise PartError(path, f"{key.member} {again}")
        if event.strikes_process():
            self._stopped[process] = event.at + event.lasts()
        else:
            self._paused[by_itself] = event.at + event.lasts()

    def _end(self, event: Event, key: MemberKey) -> None:
        process = self._process(key)
        if event.strikes_process():
            self._stopped.pop(process, None)
        for each in self._processes[process] if event.strikes_process() else (key,):
            self._members[each].end(_since(event))


def _since(event: Event) -> str:
    return f"{event.describe()} at {duration_text(event.at)}"
