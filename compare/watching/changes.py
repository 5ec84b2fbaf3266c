"""A group as one poll found it, and what changed in it from poll to poll and since the watching began.

A queue has moved where its single owner is another one than the last single owner that was seen, also if a poll between
saw it without an owner. A static member of Kafka is one member under its instance id: it comes back with another member
id, and its partitions have not moved then.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import cast

from compare.auditing.baseline import Change, changes
from compare.auditing.group_figures import AuditedGroup, by_cost, engine_for, judge, with_new_lag
from compare.auditing.score import misplaced_queues, score
from compare.auditing.what_if import best_loads
from compare.documents.audit import GroupRecord, Owners, single_owners
from compare.figures import Figure
from compare.figures.metrics import COLUMNS
from compare.reading.group_kinds import kind_of
from compare.reading.group_model import is_on_the_move, model_of
from compare.reading.kafka.listings import REBALANCING
from compare.reading.observed import ObservedGroup
from compare.watching.lag import LagTimes, Waiting

_JOINING, _SYNCING = "PreparingRebalance", "CompletingRebalance"
_GOES_ON = (_JOINING, _SYNCING, "Assigning", "Reconciling", REBALANCING)
_RESTS = ("Stable", "Empty")

CALM_S = 120.0
"""Seconds after the last change until which queues that move may belong to it, where no state tells that it is over:
members of RocketMQ act one after the other, and one that is gone in silence holds its locks for a minute."""


@dataclass(slots=True)
class Rebalances:
    """How many rebalances a group has had since the watching began. ``seen``: at least so many; ``counted``: by the
    group's epoch, None where the source shows none.

    The epoch of a group of the consumer protocol grows by one with each rebalance, so those between two polls count.
    Members of a classic group say the generation that they come from when they join: a lower bound. Elsewhere one is
    counted where two polls differ in a way that needs one, which misses what begins and ends between two polls.
    """

    seen: int = 0
    counted: int | None = None
    _epoch: int | None = None
    _generation: int | None = None
    _seen_there: int = 0
    _state: str | None = None
    _members: Set[str] | None = None
    _changed_at: float | None = None

    def take(self, group: ObservedGroup, members: Set[str] | None, moved: bool, at: float) -> int:
        """How many more there are than in the poll before. ``members``: who is in the group, None where that is not
        told; ``moved``: a queue has another owner than the last that was seen; ``at``: seconds."""
        before = self.seen
        changed = members is not None and self._members is not None and members != self._members
        # What Kafka's tool says of a classic group, whose members are coming.
        state = _JOINING if group.state == REBALANCING and not group.consumer_protocol else group.state
        if group.epoch is not None:
            grown = _grown(self._epoch, group.epoch)
            self.counted = (self.counted or 0) + grown
            self.seen = max(self.seen, self._seen_there + grown)
            self._epoch, self._seen_there = group.epoch, self.seen
        else:
            self.seen += self._is_another(state, changed, moved, at)
            if group.generation is not None:
                self.seen = max(self.seen, self._seen_there + _grown(self._generation, group.generation))
                self._generation, self._seen_there = group.generation, self.seen
        if changed or moved:
            self._changed_at = at
        self._state = state
        self._members = self._members if members is None else members
        return self.seen - before

    def _is_another(self, state: str | None, changed: bool, moved: bool, at: float) -> bool:
        """Whether the last two polls differ in a way that needs a rebalance which is not counted yet."""
        was = self._state
        if was == _JOINING:
            return False  # whoever comes and goes before all have joined, does so in the rebalance that is counted
        if changed or (state in _GOES_ON and was in _RESTS) or (state == _JOINING and was == _SYNCING):
            return True
        if not moved or was in _GOES_ON:
            return False
        return was in _RESTS or self._changed_at is None or at - self._changed_at > CALM_S


def _grown(before: int | None, now: int) -> int:
    """By how much; a smaller number is that of a group that was made anew, of which nobody knows how often."""
    return 0 if before is None else max(now - before, 0)


Key = tuple[str, str]
"""System and name of a group of one cluster."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """``score``: 0 to 100. ``distance``: queues above the fairest loads (`misplaced_queues`), 0 where the group cannot
    be fairer; ``optimum_max``: the heaviest load of the fairest allocation. They are None while the group
    rebalances, and where a model of it would need more than the sources tell. Loads are numbers of queues."""

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
    def is_on_the_move(self) -> bool:
        """Whether it rebalances, so that nobody judges how fair it is."""
        return is_on_the_move(self.group.observed)

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
        still = [replace(group, lag={}, ends={}) for group in groups]
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
    modelled = None if is_on_the_move(group.observed) else model_of(group.observed)
    if modelled is None:
        return GroupState(group, kind, None, None, None)
    best = best_loads(modelled.group)
    distance = misplaced_queues(modelled.today, best)
    return GroupState(group, kind, score(modelled.today, best), distance, best[0])


FORGET_POLLS = 100
"""Polls of its cluster after which a group that is not seen is forgotten; so what is kept stays bounded."""

QueueKey = tuple[str | int, ...]
Move = list[str | int]
"""Topic, broker and number of a queue, its last owner and its new one."""


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group in a poll. ``moves``, ``rebalances``, ``joined`` and ``left`` are what changed since the poll before,
    None where there is nothing to compare with; the totals count since the watching began. ``rebalances_seen_total``
    is a lower bound, ``rebalances_total`` the count by the group's epoch, None where the source shows none."""

    state: GroupState
    moves: int | None
    joined: tuple[str, ...] | None
    left: tuple[str, ...] | None
    moves_total: int
    rebalances: int | None
    rebalances_seen_total: int
    rebalances_total: int | None
    waiting: Waiting

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The state's figures, and the metrics of `compare.figures.metrics` that are of polls."""
        state = self.state
        totals = {
            "moves_total": self.moves_total,
            "rebalances_seen_total": self.rebalances_seen_total,
            "rebalances_total": self.rebalances_total,
        }
        waiting = {"lag_s": self.waiting.age_s, "lag_trend": self.waiting.trend_per_s}
        return {**state.figures, "score": state.score, "distance": state.distance, **totals, **waiting}


@dataclass(slots=True)
class _Memory:
    """What is known of a group from earlier polls. ``state``: the last one; ``owners``: the last single owner of each
    queue; ``told``: whether a poll has told owners."""

    record: GroupRecord
    state: GroupState | None = None
    owners: dict[QueueKey, str] = field(default_factory=dict)
    told: bool = False
    moves: int = 0
    rebalances: Rebalances = field(default_factory=Rebalances)
    lag: LagTimes = field(default_factory=LagTimes)
    unseen: int = 0


class ChangeLog:
    """The groups of one cluster over all polls."""

    def __init__(self) -> None:
        self._memories: dict[Key, _Memory] = {}
        self._before: list[GroupRecord] | None = None

    def take(self, states: Sequence[GroupState], at: float, whole: bool = True) -> tuple[list[SeenGroup], list[Change]]:
        """The groups of the next poll, which was at ``at`` (seconds), in order, and what changed; nothing has in the
        first poll. ``whole``: every group that there is has been read, so that one that is missing is gone."""
        seen, moved = [], {}
        for state in states:
            group, queues = self._take(state, at)
            seen.append(group)
            moved[state.key] = queues
        self._forget({state.key for state in states})
        records = [self._memories[state.key].record for state in states]
        if not whole and self._before is not None:
            read = {state.key for state in states}
            records += [each for each in self._before if (each["system"], each["group"]) not in read]
        before, self._before = self._before, records
        if before is None:
            return seen, []
        # A record that is the same object is that of a group that has not changed.
        same = {id(record) for record in before} & {id(record) for record in records}
        others = [[each for each in of_poll if id(each) not in same] for of_poll in (before, records)]
        return seen, _told(changes(*others), moved, others[1])

    def _take(self, state: GroupState, at: float) -> tuple[SeenGroup, list[Move]]:
        is_new = state.key not in self._memories
        memory = self._memories.setdefault(state.key, _Memory(_record(state, {}, None)))
        memory.unseen = 0
        moved, joined, left = self._compared(memory, state)
        observed = state.group.observed
        # Nothing is shared anew where everybody reads every queue.
        members = None if observed.mode == "broadcasting" else _members(observed)
        rebalances = memory.rebalances.take(observed, members, bool(moved), at)
        lag = state.figures.get("lag")
        waiting = memory.lag.take(observed, None if lag is None else int(lag), at)
        memory.state = state
        compared = joined is not None
        seen = SeenGroup(
            state=state,
            moves=len(moved) if compared else None,
            joined=joined,
            left=left,
            moves_total=memory.moves,
            rebalances=None if is_new else rebalances,
            rebalances_seen_total=memory.rebalances.seen,
            rebalances_total=memory.rebalances.counted,
            waiting=waiting,
        )
        return seen, moved

    def _compared(
        self, memory: _Memory, state: GroupState
    ) -> tuple[list[Move], tuple[str, ...] | None, tuple[str, ...] | None]:
        """Queues that moved, members that joined and left; None where owners are not told now, or were not before."""
        if not state.tells_owners:
            memory.record = _record(state, memory.record["owners"] or {}, memory.record)
            return [], None, None
        before = memory.state
        if before is not None and before.tells_owners and before.group.owners is state.group.owners:
            return [], (), ()  # judged once: nothing but its lag is new
        owners = _owners(state)
        now, was, members = single_owners(owners), memory.owners, memory.record["owners"] or {}
        was_told, memory.told = memory.told, True
        memory.record, memory.owners = _record(state, owners, memory.record), was | now
        if not was_told:
            return [], None, None
        if state.group.observed.mode == "broadcasting":
            was = {}
        moved = [
            [*queue, was[queue], now[queue]] for queue in sorted(was.keys() & now.keys()) if was[queue] != now[queue]
        ]
        memory.moves += len(moved)
        return moved, tuple(sorted(owners.keys() - members.keys())), tuple(sorted(members.keys() - owners.keys()))

    def _forget(self, seen: set[Key]) -> None:
        for key in [*self._memories]:
            memory = self._memories[key]
            if key not in seen:
                memory.unseen += 1
                if memory.unseen >= FORGET_POLLS:
                    del self._memories[key]


def _members(group: ObservedGroup) -> frozenset[str] | None:
    return None if group.members is None else frozenset(member.instance_id or member.id for member in group.members)


def _owners(state: GroupState) -> Owners:
    observed = state.group.observed
    instances = {member.id: member.instance_id for member in observed.members or () if member.instance_id}
    found: dict[str, list[list[str | int]]] = {}
    for member, owned in state.group.owners.items():
        # Two members of one instance: one of them is being put out.
        found.setdefault(instances.get(member, member), []).extend(list(queue) for queue in owned or ())
    return found


def _record(state: GroupState, owners: Owners, before: GroupRecord | None) -> GroupRecord:
    """What the audit's `changes` compares; of a group that rebalances the figures that it had before, so that what came
    of the rebalance is told when it is over."""
    system, name = state.key
    kept = {each: before and before.get(each) for each in _WHEN_SETTLED} if state.is_on_the_move else {}
    return cast(GroupRecord, {**state.figures, **kept, "system": system, "group": name, "owners": owners})


_WHEN_SETTLED = tuple(metric.path for metric in COLUMNS["audit changes"] if metric.path != "idle_members")


def _told(found: Sequence[Change], moved: Mapping[Key, list[Move]], records: Sequence[GroupRecord]) -> list[Change]:
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
