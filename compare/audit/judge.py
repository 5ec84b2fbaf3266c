"""From observed groups to figures: what can be told is computed, what cannot be told is None.

A group is *told* when it shares its queues and the sources name every member and everything each one owns. Then
all figures are computed, by the engine that was asked for; otherwise only the counts that the sources give.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compare.audit.cost import cost
from compare.figures import FIGURES, Figure, GroupFigures, GroupLoads, counted_figures, figures_of
from compare.reading.observed import ObservedGroup, ObservedMember
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance.codes import RETRY_PREFIX

ROWS_FOR_SPARK = 2_000_000
"""From this many owned queues on, ``auto`` chooses Spark: starting it costs more than numpy needs for fewer."""


@dataclass(frozen=True, slots=True)
class AuditedGroup:
    """A group with its figures (names as in the design, `lag` and `members` among them), overall and per topic.

    ``owners``: member id to its queues, sorted; None where the sources do not tell what it owns. ``cost``: see
    `compare.audit.cost`.
    """

    observed: ObservedGroup
    owners: Mapping[str, tuple[Queue, ...] | None]
    figures: Mapping[str, Figure]
    topics: Mapping[str, Mapping[str, Figure]]
    cost: float = 0.0

    @property
    def mode(self) -> str:
        """`shared`, `broadcasting` or `pop`."""
        return self.observed.mode

    def figure(self, name: str) -> Figure:
        """A figure of the whole group."""
        return self.figures[name]


def engine_for(groups: Sequence[ObservedGroup]) -> str:
    """What counts these groups soonest: ``spark`` or ``local``."""
    rows = sum(len(member.owned or ()) for group in groups for member in group.members or ())
    return "spark" if rows >= ROWS_FOR_SPARK else "local"


def judge(
    groups: Sequence[ObservedGroup], *, weight: str | None = None, with_retry: bool = False, engine: str = "local"
) -> list[AuditedGroup]:
    """The groups with their figures, worst first.

    ``weight``: None (each queue weighs 1), ``lag`` or ``rate``; a group or topic with an owned queue whose weight
    is not told has no figures of load. ``engine``: ``local`` or ``spark``.
    """
    loads = [_loads(group, weight, with_retry) for group in groups]
    told = [each for each in loads if each is not None]
    computed = iter(figures_of(told, engine=engine))
    audited = [
        _told(group, next(computed), with_retry) if load is not None else _untold(group, with_retry)
        for group, load in zip(groups, loads, strict=True)
    ]
    return sorted(audited, key=_rank)


def _rank(group: AuditedGroup) -> tuple[object, ...]:
    """Sort key: what costs most first; groups without members that nothing waits for come last."""
    return -group.cost, group.figures["members"] == 0, group.observed.system, group.observed.name


def _loads(group: ObservedGroup, weight: str | None, with_retry: bool) -> GroupLoads | None:
    """What the engines are given, None for a group that is not told."""
    if group.mode != "shared" or group.members is None:
        return None
    if any(member.owned is None for member in group.members):
        return None
    owners: dict[Queue, list[int]] = {queue: [] for queue in group.queues or ()}
    for position, member in enumerate(group.members):
        for queue in member.owned or ():
            owners.setdefault(queue, []).append(position)
    weights = _weights(group, owners, weight)
    return GroupLoads(
        members=len(group.members),
        rows=[
            (queue.topic, (queue.broker, queue.number), tuple(at), weights[queue])
            for queue, at in owners.items()
            if with_retry or not queue.topic.startswith(RETRY_PREFIX)
        ],
    )


def _weights(group: ObservedGroup, queues: Iterable[Queue], weight: str | None) -> Mapping[Queue, int | float | None]:
    """The weight of every queue, None where it is not told."""
    if weight is None:
        return dict.fromkeys(queues, 1)
    told: Mapping[Queue, int | float | None] = group.lag if weight == "lag" else group.rates
    return {queue: told.get(queue) for queue in queues}


def _told(group: ObservedGroup, figures: GroupFigures, with_retry: bool) -> AuditedGroup:
    overall = dict(figures.overall)
    topics = {topic: dict(of_topic) for topic, of_topic in figures.topics.items()}
    if group.queues is None:
        # Without the whole list of queues nobody knows which of them have no owner.
        overall["unowned_queues"] = None
        for of_topic in topics.values():
            of_topic["unowned_queues"] = None
    return _audited(group, overall, topics, with_retry)


def _untold(group: ObservedGroup, with_retry: bool) -> AuditedGroup:
    overall: dict[str, Figure] = dict.fromkeys(FIGURES)
    overall["members"] = group.member_count if group.members is None else len(group.members)
    if group.queues is not None:
        overall["queues"] = len(_counted(group.queues, with_retry))
    if group.mode == "shared":
        overall["idle_members"] = group.idle_count
        if group.unowned is not None:
            overall["unowned_queues"] = len(_counted(group.unowned, with_retry))
        if group.members is not None:
            overall |= _by_counts(group.members)
    return _audited(group, overall, {}, with_retry)


def _by_counts(members: Sequence[ObservedMember]) -> Mapping[str, Figure]:
    """Figures of load where the text tells how many queues each member owns, but not which."""
    counts = [each.queue_count if each.owned is None else len(each.owned) for each in members]
    if None in counts:
        return {}
    rows = [("", n, (at,), 1) for at, count in enumerate(counts) for n in range(count or 0)]
    (found,) = counted_figures([GroupLoads(len(members), rows)])
    unknown = ("queues", "unowned_queues", "double_owned_queues", "pile_up")
    return {name: value for name, value in found.overall.items() if name not in unknown}


def _audited(
    group: ObservedGroup, overall: dict[str, Figure], topics: dict[str, dict[str, Figure]], with_retry: bool
) -> AuditedGroup:
    lags = {queue: group.lag[queue] for queue in _counted(group.lag, with_retry)}
    overall["lag"] = _total(lags.values())
    by_topic: dict[str, list[int | None]] = {topic: [] for topic in topics}
    for queue, lag in lags.items():
        by_topic.setdefault(queue.topic, []).append(lag)
    for topic, of_topic in topics.items():
        of_topic["lag"] = _total(by_topic[topic])
    return AuditedGroup(group, _owners(group), overall, topics, cost(group, overall))


def _total(lags: Iterable[int | None]) -> int | None:
    told = [lag for lag in lags if lag is not None]
    return sum(told) if told else None


def _counted(queues: Iterable[Queue], with_retry: bool) -> list[Queue]:
    return [queue for queue in queues if with_retry or not queue.topic.startswith(RETRY_PREFIX)]


def _owners(group: ObservedGroup) -> dict[str, tuple[Queue, ...] | None]:
    found: dict[str, tuple[Queue, ...] | None] = {}
    for member in group.seen if group.members is None else group.members:
        if member.id in found:
            # Two connections under one client id: what either of them owns.
            known = found[member.id]
            both = None if known is None or member.owned is None else sort_queues({*known, *member.owned})
            found[member.id] = both
        else:
            found[member.id] = None if member.owned is None else sort_queues(member.owned)
    return {member: found[member] for member in sorted_as_java(found)}
