"""What a group's state costs, by which the audit puts the worst first: records that wait, queues that nobody or two
own, members that do nothing; unevenness last, for it is no harm by itself.

| what | points |
|---|---|
| records that wait where nobody reads (no owner, no member) | 10 times log10(1 + records) |
| other records that wait | 3 times log10(1 + records) |
| queues without owner | 40 times the square root of their share of all queues |
| queues with two owners | 30 times the square root of their share |
| idle members | 20 times their share of all members |
| subscribed topics that do not exist | 10 times the square root of their share of all subscribed topics |
| heaviest load over the mean | 5 times (1 - mean / heaviest) |

What the sources do not tell costs nothing. Groups that share no queues (broadcasting, POP) cost what waits.

From observed groups to figures: what can be told is computed, what cannot be told is None.

What is told of a group (`reading.known_ownership`) goes to the engine that was asked for. Where all topics are told,
or all but those that the sources leave out, that gives the figures of the group; else only those of single topics, and
for the group the counts that the sources give. A figure that would not be true of the whole group is None then.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import log10, sqrt

from compare.figures import FIGURES, Figure, GroupFigures, GroupLoads, counted_figures
from compare.reading.group_model import KnownOwnership, is_on_the_move, known_ownership, missing_share, unowned_queues
from compare.reading.observed import ObservedGroup, ObservedMember
from compare.reading.rocketmq.lines import is_retry
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java

UNREAD, WAITING = 10.0, 3.0
"""Points for each power of ten of the records that wait."""

UNOWNED, DOUBLE_OWNED, IDLE, MISSING, HEAVIEST = 40.0, 30.0, 20.0, 10.0, 5.0
"""Points at the most."""


def waiting(observed: ObservedGroup, unowned: Collection[Queue]) -> tuple[int, int]:
    """Records that wait where nobody reads, and the others. A negative lag (the queue was made anew) counts 0.

    Consumers that call assign() are members of nothing: of their group it is not told whether somebody reads.
    """
    nobody = (observed.members == () and not observed.only_offsets) or observed.seems_deserted
    unread = others = 0
    for queue, lag in observed.lag.items():
        if lag is not None and lag > 0:
            if nobody or queue in unowned:
                unread += lag
            else:
                others += lag
    return unread, others


def cost(observed: ObservedGroup, figures: Mapping[str, Figure]) -> float:
    """Points, 0 for a group that is perfectly served."""
    # Of a group that only stores offsets nobody tells whether somebody reads.
    unread, others = waiting(observed, () if observed.only_offsets else frozenset(unowned_queues(observed)))
    points = UNREAD * log10(1 + unread) + WAITING * log10(1 + others)
    if observed.mode != "shared":
        return points
    queues, members, over = figures["queues"], figures["members"], figures["max_over_mean"]
    if queues and members:
        points += UNOWNED * sqrt(min(1.0, (figures["unowned_queues"] or 0) / queues))
        points += DOUBLE_OWNED * sqrt(min(1.0, (figures["double_owned_queues"] or 0) / queues))
    if members:
        points += IDLE * (figures["idle_members"] or 0) / members
    points += MISSING * sqrt(missing_share(observed))
    if over:
        points += HEAVIEST * (1 - 1 / over)
    return points


_OF_OWNERS = ("queues", "unowned_queues", "double_owned_queues", "max")
"""Figures that members who own nothing do not change."""

_UNWEIGHED = ("members", "idle_members", "idle_share")
"""Figures that weights do not change."""

ROWS_FOR_SPARK = 2_000_000
"""From this many owned queues on, ``auto`` chooses Spark: starting it costs more than numpy needs for fewer."""


@dataclass(frozen=True, slots=True)
class AuditedGroup:
    """A group with its figures (names as in the design, `lag` and `members` among them), overall and per topic.

    ``owners``: member id to its queues, sorted; None where the sources do not tell what it owns. ``cost``: see
    `compare.auditing.group_figures`.
    """

    observed: ObservedGroup
    owners: Mapping[str, tuple[Queue, ...] | None]
    figures: Mapping[str, Figure]
    topics: Mapping[str, Mapping[str, Figure]]
    cost: float = 0.0

    @property
    def mode(self) -> str:
        """`shared`, `broadcasting`, `pop` or `share`."""
        return self.observed.mode

    def figure(self, name: str) -> Figure:
        """A figure of the whole group."""
        return self.figures[name]


def engine_for(groups: Sequence[ObservedGroup]) -> str:
    """What counts these groups soonest: ``spark``, where it is installed, or ``local``."""
    rows = sum(len(member.owned or ()) for group in groups for member in group.members or ())
    return "spark" if rows >= ROWS_FOR_SPARK and find_spec("pyspark") is not None else "local"


def judge(
    groups: Sequence[ObservedGroup], *, weight: str | None = None, with_retry: bool = False, engine: str = "local"
) -> list[AuditedGroup]:
    """The groups with their figures, worst first.

    ``weight``: None (each queue weighs 1), ``lag`` or ``rate``; a group or topic with an owned queue whose weight
    is not told has no figures of load. ``engine``: ``local`` or ``spark``.
    """
    told = [known_ownership(group) for group in groups]
    loads = [
        _loads(group, each, weight, with_retry) for group, each in zip(groups, told, strict=True) if each is not None
    ]
    computed = iter(figures_of(loads, engine=engine))
    audited = [
        _untold(group, weight, with_retry) if each is None else _told(group, each, next(computed), weight, with_retry)
        for group, each in zip(groups, told, strict=True)
    ]
    return by_cost(audited)


def with_new_lag(group: AuditedGroup, observed: ObservedGroup) -> AuditedGroup:
    """The figures of a group of which nothing but its lag has changed since it was judged by `judge`, counting queues
    and without retry topics."""
    topics = {topic: {**of_topic} for topic, of_topic in group.topics.items()}
    overall = {**group.figures}
    _add_lag(observed, overall, topics, with_retry=False)
    return AuditedGroup(observed, group.owners, overall, topics, cost(observed, overall))


def by_cost(groups: Iterable[AuditedGroup]) -> list[AuditedGroup]:
    """Worst first, as `judge` orders them."""
    return sorted(groups, key=_rank)


def _rank(group: AuditedGroup) -> tuple[object, ...]:
    """Sort key: what costs most first; groups without members that nothing waits for come last."""
    return -group.cost, group.figures["members"] == 0, group.observed.system, group.observed.name


def _loads(group: ObservedGroup, told: KnownOwnership, weight: str | None, with_retry: bool) -> GroupLoads:
    """What the engines are given. Where nobody tells how many members there are, only the owners are counted."""
    weights = _weights(group, told.owners, weight)
    counted = [item for item in told.owners.items() if with_retry or not is_retry(item[0].topic)]
    owners = 1 + max((position for _, at in counted for position in at), default=-1)
    return GroupLoads(
        members=owners if told.members is None else told.members,
        rows=[(queue.topic, (queue.broker, queue.number), at, weights[queue]) for queue, at in counted],
    )


def _weights(group: ObservedGroup, queues: Iterable[Queue], weight: str | None) -> Mapping[Queue, int | float | None]:
    """The weight of every queue, None where it is not told."""
    if weight is None:
        return dict.fromkeys(queues, 1)
    told: Mapping[Queue, int | float | None] = group.lag if weight == "lag" else group.rates
    return {queue: told.get(queue) for queue in queues}


def _told(
    group: ObservedGroup, told: KnownOwnership, figures: GroupFigures, weight: str | None, with_retry: bool
) -> AuditedGroup:
    overall = dict(figures.overall) if told.whole else _counts(group, weight, with_retry)
    topics = {topic: dict(of_topic) for topic, of_topic in figures.topics.items()}
    every = [overall, *topics.values()] if told.whole else [*topics.values()]
    for each in every:
        if not told.every_queue:
            # Without the whole list of queues nobody knows which of them have no owner.
            each["unowned_queues"] = None
        if told.members is None:
            # Members that own nothing may be missing: true is only what they would not change.
            each.update((name, None) for name in FIGURES if name not in _OF_OWNERS)
    if told.whole and group.partial is not None and group.partial.topics and overall["idle_members"]:
        # They may own queues of the topics that are left out.
        overall["idle_members"] = overall["idle_share"] = None
    return _audited(group, overall, topics, with_retry)


def _untold(group: ObservedGroup, weight: str | None, with_retry: bool) -> AuditedGroup:
    return _audited(group, _counts(group, weight, with_retry), {}, with_retry)


def _counts(group: ObservedGroup, weight: str | None, with_retry: bool) -> dict[str, Figure]:
    """The figures of a group of which some topic is not told."""
    untold = () if group.partial is None else group.partial.topics
    overall: dict[str, Figure] = dict.fromkeys(FIGURES)
    overall["members"] = group.member_count if group.members is None else len(group.members)
    told = [queue for queue in _counted(group.queues or (), with_retry) if queue.topic not in untold]
    is_told = not untold or any(not is_retry(queue.topic) for queue in told)
    queues = len(told if is_told else _counted(group.queues or (), with_retry))
    if group.queues is not None:
        overall["queues"] = queues
    if group.mode == "shared" and is_told:
        overall["idle_members"] = group.idle_count
        if group.unowned is not None:
            overall["unowned_queues"] = unowned = len(_counted(group.unowned, with_retry))
            ids = {member.id for member in group.members or ()}
            if not group.members_disagree and group.queues is not None and len(ids) == overall["members"]:
                # Each of the others has one owner, whoever it is.
                overall["double_owned_queues"] = 0
                if weight is None and ids:
                    overall["mean"] = (queues - unowned) / len(ids)
        if group.members is not None:
            by_counts = _by_counts(group.members)
            overall |= {name: by_counts[name] for name in by_counts if weight is None or name in _UNWEIGHED}
    return overall


def _by_counts(members: Sequence[ObservedMember]) -> Mapping[str, Figure]:
    """Figures of load where the text tells how many queues each member owns, but not which."""
    counts = [member.queue_count if member.owned is None else len(member.owned) for member in members]
    if None in counts:
        return {}
    rows = [("", n, (at,), 1) for at, count in enumerate(counts) for n in range(count or 0)]
    (found,) = counted_figures([GroupLoads(len(members), rows)])
    unknown = ("queues", "unowned_queues", "double_owned_queues", "pile_up")
    return {name: value for name, value in found.overall.items() if name not in unknown}


def _audited(
    group: ObservedGroup, overall: dict[str, Figure], topics: dict[str, dict[str, Figure]], with_retry: bool
) -> AuditedGroup:
    _add_lag(group, overall, topics, with_retry)
    if overall["idle_members"] and is_on_the_move(group):
        # They may be about to own some: nobody is idle while a group rebalances.
        overall["idle_members"] = overall["idle_share"] = None
    return AuditedGroup(group, _owners(group), overall, topics, cost(group, overall))


def _add_lag(
    group: ObservedGroup, overall: dict[str, Figure], topics: dict[str, dict[str, Figure]], with_retry: bool
) -> None:
    lags = {queue: group.lag[queue] for queue in _counted(group.lag, with_retry)}
    overall["lag"] = _total(group, lags)
    by_topic: dict[str, dict[Queue, int | None]] = {topic: {} for topic in topics}
    for queue, lag in lags.items():
        by_topic.setdefault(queue.topic, {})[queue] = lag
    for topic, of_topic in topics.items():
        of_topic["lag"] = _total(group, by_topic[topic])


def _total(group: ObservedGroup, lags: Mapping[Queue, int | None]) -> int | None:
    """Of the queues with a commit; None where none has one, and where the end of one is not told."""
    told = [lag for lag in lags.values() if lag is not None]
    return sum(told) if told and lags.keys().isdisjoint(group.endless) else None


def _counted(queues: Iterable[Queue], with_retry: bool) -> list[Queue]:
    return [queue for queue in queues if with_retry or not is_retry(queue.topic)]


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


def figures_of(groups: Sequence[GroupLoads], engine: str = "local") -> list[GroupFigures]:
    """The figures of every group, in the order given; ``engine`` is ``local`` or ``spark``, with the same bytes."""
    if engine == "spark":
        from compare.figures.spark.counting import figures_on_spark

        return figures_on_spark(groups)
    return counted_figures(groups)
