"""A group as one poll found it: the audit's figures, score and distance to the optimum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.auditing.group_figures import AuditedGroup, by_cost, engine_for, judge, with_new_lag
from compare.auditing.score import misplaced_queues, score
from compare.auditing.what_if import best_loads
from compare.figures import Figure
from compare.reading.group_kinds import kind_of
from compare.reading.group_model import model_of
from compare.reading.observed import ObservedGroup

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
        found: dict[Key, GroupState] = {}
        for each in ordered:
            state = states[id(each.observed)]
            found.setdefault(state.key, state)
        unmoved_of = {id(group): unmoved for group, unmoved in zip(groups, still, strict=True)}
        self._before = {key: (unmoved_of[id(state.group.observed)], state) for key, state in found.items()}
        return list(found.values())


def _state(group: AuditedGroup) -> GroupState:
    kind = kind_of(group.observed)
    modelled = model_of(group.observed)
    if modelled is None:
        return GroupState(group, kind, None, None, None)
    best = best_loads(modelled.group)
    distance = misplaced_queues(modelled.today, best)
    return GroupState(group, kind, score(modelled.today, best), distance, best[0])
