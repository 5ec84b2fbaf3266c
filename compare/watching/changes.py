"""A group as one poll found it, and what changed in it from poll to poll and since the watching began.

A queue has moved where its single owner is another one than the last single owner that was seen, also if a poll between
saw it without an owner. Changes of owners or members that follow each other within `CALM_S` are one rebalance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from compare.auditing.baseline import Change, changes
from compare.auditing.group_figures import AuditedGroup, by_cost, engine_for, judge, with_new_lag
from compare.auditing.score import misplaced_queues, score
from compare.auditing.what_if import best_loads
from compare.documents.audit import GroupRecord, Owners, single_owners
from compare.figures import Figure
from compare.reading.group_kinds import kind_of
from compare.reading.group_model import model_of
from compare.reading.observed import ObservedGroup
from compare.snapshots import CALM_S

Key = tuple[str, str]
"""System and name of a group of one cluster."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """``score``: 0 to 100. ``distance``: queues above the fairest loads (`misplaced_queues`), 0 where the group cannot
    be fairer; ``optimum_max``: the heaviest load of the fairest allocation. They are None where a model of the group
    would need more than the sources tell. Loads are numbers of queues."""

    group: AuditedGroup
    kind: str
    score: float | None
    distance: int | None
    optimum_max: int | None

    @property
    def key(self) -> Key:
        """System and name."""
        return self.group.observed.system, self.group.observed.name

    @property
    def figures(self) -> Mapping[str, Figure]:
        """As in the audit, `lag` among them."""
        return self.group.figures

    @property
    def tells_owners(self) -> bool:
        """Whether it is known what every member owns."""
        members = self.group.observed.members
        return members is not None and all(member.owned is not None for member in members)


class StateReader:
    """Judges the groups of one cluster from poll to poll. Of a group of which nothing but the lag has changed only the
    lag is judged anew."""

    def __init__(self) -> None:
        self._before: dict[Key, tuple[ObservedGroup, GroupState]] = {}

    def take(self, groups: Sequence[ObservedGroup]) -> list[GroupState]:
        """The groups' states, worst first as in the audit. Of several groups with one name (sources that contradict
        each other) the worst stands for all."""
        same: dict[int, GroupState] = {}
        changed: list[ObservedGroup] = []
        still = [replace(group, lag={}) for group in groups]
        for group, unmoved in zip(groups, still, strict=True):
            before = self._before.get((group.system, group.name))
            if before is not None and before[0] == unmoved:
                same[id(group)] = replace(before[1], group=with_new_lag(before[1].group, group))
            else:
                changed.append(group)
        states = {id(each.observed): _state(each) for each in judge(changed, engine=engine_for(changed))} | same
        ordered = by_cost([state.group for state in states.values()])
        group_states: dict[Key, GroupState] = {}
        for each in ordered:
            state = states[id(each.observed)]
            group_states.setdefault(state.key, state)
        unmoved_of = {id(group): unmoved for group, unmoved in zip(groups, still, strict=True)}
        self._before = {key: (unmoved_of[id(state.group.observed)], state) for key, state in group_states.items()}
        return list(group_states.values())


def _state(group: AuditedGroup) -> GroupState:
    kind = kind_of(group.observed)
    modelled = model_of(group.observed)
    if modelled is None:
        return GroupState(group, kind, None, None, None)
    best = best_loads(modelled.group)
    distance = misplaced_queues(modelled.today, best)
    return GroupState(group, kind, score(modelled.today, best), distance, best[0])


FORGET_POLLS = 100
"""Polls of its cluster after which a group that is not seen is forgotten; so what is kept stays bounded."""

QueueKey = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group in a poll. ``moves``, ``joined`` and ``left`` are what changed since the poll before, None where there is
    nothing to compare with; ``moves_total`` and ``rebalances_total`` count since the watching began."""

    state: GroupState
    moves: int | None
    joined: tuple[str, ...] | None
    left: tuple[str, ...] | None
    moves_total: int
    rebalances_total: int

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The state's figures, and the metrics of `compare.figures.metrics` that are of polls."""
        state = self.state
        totals = {"moves_total": self.moves_total, "rebalances_total": self.rebalances_total}
        return {**state.figures, "score": state.score, "distance": state.distance, **totals}


@dataclass(slots=True)
class _Memory:
    """What is known of a group from earlier polls."""

    record: GroupRecord
    state: GroupState
    owners: dict[QueueKey, str] = field(default_factory=dict)
    told: bool = False
    moves: int = 0
    rebalances: int = 0
    changed_at: float | None = None
    unseen: int = 0


class ChangeLog:
    """The groups of one cluster over all polls."""

    def __init__(self) -> None:
        self._memories: dict[Key, _Memory] = {}
        self._before: list[GroupRecord] | None = None

    def take(self, states: Sequence[GroupState], at: float) -> tuple[list[SeenGroup], list[Change]]:
        """The groups of the next poll, which was at ``at`` (seconds), in order, and what changed; nothing has in the
        first poll."""
        seen, moved = [], {}
        for state in states:
            group, queues = self._take(state, at)
            seen.append(group)
            moved[state.key] = queues
        self._forget({state.key for state in states})
        records = [self._memories[state.key].record for state in states]
        before, self._before = self._before, records
        if before is None:
            return seen, []
        # A record that is the same object is that of a group that has not changed.
        same = {id(record) for record in before} & {id(record) for record in records}
        others = [[each for each in of_poll if id(each) not in same] for of_poll in (before, records)]
        return seen, _told(changes(*others), moved, others[1])

    def _take(self, state: GroupState, at: float) -> tuple[SeenGroup, list[list[str | int]]]:
        memory = self._memories.get(state.key)
        if not state.tells_owners:
            owners = {} if memory is None else memory.record["owners"] or {}
            if memory is None:
                memory = self._memories[state.key] = _Memory(_record(state, owners), state)
            memory.record, memory.state, memory.unseen = _record(state, owners), state, 0
            return SeenGroup(state, None, None, None, memory.moves, memory.rebalances), []
        if memory is not None and memory.told and memory.state.group.owners is state.group.owners:
            memory.state, memory.unseen = state, 0
            return SeenGroup(state, 0, (), (), memory.moves, memory.rebalances), []
        owners = _owners(state)
        now = single_owners(owners)
        if memory is None or not memory.told:
            known = self._memories[state.key] = memory or _Memory(_record(state, owners), state)
            known.record, known.state, known.unseen = _record(state, owners), state, 0
            known.owners, known.told = now, True
            return SeenGroup(state, None, None, None, known.moves, known.rebalances), []
        was, members = memory.owners, memory.record["owners"] or {}
        moved: list[list[str | int]] = [
            [*queue, was[queue], now[queue]] for queue in sorted(was.keys() & now.keys()) if was[queue] != now[queue]
        ]
        joined, left = tuple(sorted(owners.keys() - members.keys())), tuple(sorted(members.keys() - owners.keys()))
        memory.owners = was | now
        memory.record, memory.state, memory.unseen = _record(state, owners), state, 0
        memory.moves += len(moved)
        if moved or joined or left:
            if memory.changed_at is None or at - memory.changed_at > CALM_S:
                memory.rebalances += 1
            memory.changed_at = at
        return SeenGroup(state, len(moved), joined, left, memory.moves, memory.rebalances), moved

    def _forget(self, seen: set[Key]) -> None:
        for key in [*self._memories]:
            memory = self._memories[key]
            if key not in seen:
                memory.unseen += 1
                if memory.unseen >= FORGET_POLLS:
                    del self._memories[key]


def _owners(state: GroupState) -> Owners:
    return {member: [list(queue) for queue in owned or ()] for member, owned in state.group.owners.items()}


def _record(state: GroupState, owners: Owners) -> GroupRecord:
    """What the audit's `changes` compares."""
    system, name = state.key
    return cast(GroupRecord, {**state.figures, "system": system, "group": name, "owners": owners})


def _told(
    found: Sequence[Change], moved: Mapping[Key, list[list[str | int]]], records: Sequence[GroupRecord]
) -> list[Change]:
    """The changes with all moves, those that a poll between has hidden among them."""
    told: list[Change] = []
    by_key = {(change["system"], change["group"]): change for change in found}
    for record in records:
        key = record["system"], record["group"]
        queues, change = moved[key], by_key.pop(key, None)
        if change is None and queues:
            change = changes([], [record])[0]
            change["change"] = "changed"
        if change is not None:
            change["moved"] = queues
            told.append(change)
    return [*told, *by_key.values()]
