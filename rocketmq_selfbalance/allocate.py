"""What a whole group ends up with: every member computes for itself, topic by topic, of what it sees (spec 4.1, 4.2).

There is no coordinator, so nothing makes the members' answers fit together. Where their client ids, views (spec 7.1),
strategies, settings or subscriptions differ, queues with two owners and queues with none come out, as they do
in reality (spec 7.4 to 7.7).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from protocols.errors import GroupError
from protocols.groups import Allocation, Group, Member, QueueCount
from protocols.java import Queue, sort_queues, sorted_as_java
from rocketmq_selfbalance.registry import AnyStrategy, strategies_of
from rocketmq_selfbalance.strategies import AllocationError, PositionStrategy, Strategy
from rocketmq_selfbalance.strategies.interface import Positions, Settings, queues_at

MemberIds: TypeAlias = Sequence[str]
"""Client ids as a broker lists them: an id that two connections have is there twice."""


@dataclass(frozen=True, slots=True)
class View:
    """What one member sees. What is left out it sees as the group has it.

    ``members``: the client ids that brokers list, or topic to these (a client asks a broker anew for each topic);
    an empty list is a broker that knows no member, which the client takes for a failure.
    ``topics``: topic to its queues in the member's cached route, given as a number, as a number per broker, or
    one by one; None where the route is unknown. Without a member list or a route nothing changes at the member.
    """

    members: MemberIds | Mapping[str, MemberIds] | None = None
    topics: Mapping[str, QueueCount | Sequence[Queue] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for listed in self.members.values() if isinstance(self.members, Mapping) else (self.members or (),):
            if isinstance(listed, str) or not all(isinstance(cid, str) for cid in listed):
                raise GroupError(f"view: members is {listed!r}, expected a list of client ids")


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Both lists of a strategy call, sorted as clients sort them. No queues (None) or ids: the member cannot tell.

    Compared and hashed as an object: members who see a topic alike share one.
    """

    queues: tuple[Queue, ...] | None
    cids: tuple[str, ...]


def seen_by_all(group: Group) -> dict[str, Seen]:
    """Topic to what members see who see the group as it is.

    Every connection of the group is in the member list, whatever it subscribes to (spec 7.6).
    """
    cids = tuple(sorted_as_java(member.allocation_id for member in group.members))
    return {topic: Seen(sort_queues(queues), cids) for topic, queues in group.topics.items()}


def seen_through(view: View, everyone: Mapping[str, Seen]) -> dict[str, Seen]:
    of_topics: Mapping[str, MemberIds] = view.members if isinstance(view.members, Mapping) else {}
    of_all = None if view.members is None or isinstance(view.members, Mapping) else tuple(sorted_as_java(view.members))
    found = dict(everyone)
    for topic, usual in everyone.items():
        queues, cids = usual.queues, usual.cids
        if topic in view.topics:
            queues = _queues(topic, view.topics[topic])
        if topic in of_topics:
            cids = tuple(sorted_as_java(of_topics[topic]))
        elif of_all is not None:
            cids = of_all
        if queues is not usual.queues or cids is not usual.cids:
            found[topic] = Seen(queues, cids)
    return found


def _queues(topic: str, given: QueueCount | Sequence[Queue] | None) -> tuple[Queue, ...] | None:
    if given is None:
        return None
    if isinstance(given, int | Mapping):
        return sort_queues(Group.of({topic: given}, members={}).topics[topic])
    for queue in given:
        if not isinstance(queue, Queue) or queue.topic != topic:
            raise GroupError(f"view: {queue!r} is no queue of topic {topic!r}")
    return sort_queues(set(given))


Table: TypeAlias = dict[str, dict[Queue, None]]
"""A member's process queue table: topic to a set of queues that keeps their order."""


def allocate(
    name: AnyStrategy,
    group: Group,
    settings: Settings | None = None,
    *,
    views: Mapping[str, View] | None = None,
    strategies: Mapping[str, AnyStrategy] | None = None,
    previous: Mapping[str, Iterable[Queue]] | None = None,
) -> Allocation:
    """The group's allocation after each member made one pass over its topics (in sorted order).

    ``name``: one of `STRATEGIES`, a strategy object, or a function as for `register`.
    ``settings``: see `rocketmq_selfbalance.registry`. ``views``: member id to what this member sees, where it is
    not the group as it is. ``strategies``: member id to another strategy than ``name``. ``previous``: what members
    owned before (an `Allocation`, maybe of members who have left since); it stays where a member's strategy fails,
    or where it sees no member list or no route.

    Members compute under `Member.allocation_id`; two that share one compute the same. Topics and queues that are
    in the subscription, a view or a configured list but not in the group do not exist, and nobody owns them.
    Raises `StrategyError` for an unknown strategy or setting, `GroupError` for members the group lacks.
    """
    views, previous = views or {}, previous or {}
    for member_id, view in views.items():
        group.member(member_id)
        if not isinstance(view, View):
            raise GroupError(f"view of member {member_id!r} is {view!r}, expected a View")
    runs = strategies_of(group, name, settings or {}, strategies or {})
    everyone = seen_by_all(group)
    topics = sorted_as_java(group.topics)
    if not views and len(set(map(id, runs))) == 1:
        alike = _by_all_alike(group, runs[0], topics, everyone)
        if alike is not None:
            return alike
    answers = _Answers(group.name)
    owned = {}
    for members in _alike(group, runs, views):
        own_view = views.get(members[0].member.id)
        seen = everyone if own_view is None else seen_through(own_view, everyone)
        for member, strategy in members:
            subscription = set(member.subscription)
            read = [topic for topic in topics if topic in subscription]
            table = _table(previous.get(member.id, ()))
            for topic in read:
                asked_by_many = len(members) > 1 or seen[topic] is everyone[topic]
                target = answers.of(strategy, member.allocation_id, seen[topic], asked_by_many)
                if target is not None:
                    _apply(table, topic, target)
            owned[member.id] = [queue for topic in read for queue in table.get(topic, ())]
    return Allocation(group, _existing(group, owned))


def _by_all_alike(
    group: Group, strategy: Strategy, topics: Sequence[str], everyone: Mapping[str, Seen]
) -> Allocation | None:
    """The same in less time where all members run one strategy object and see the group as it is. None where somebody
    has to ask alone, because the strategy fails or picks no positions."""
    owned: dict[str, list[Queue]] = {member.id: [] for member in group.members}
    subscriptions = [(member.id, member.allocation_id, frozenset(member.subscription)) for member in group.members]
    if not isinstance(strategy, PositionStrategy) or not all(cid for _, cid, _ in subscriptions):
        return None
    for topic in topics:
        readers = [(id, cid) for id, cid, subscription in subscriptions if topic in subscription]
        queues = everyone[topic].queues
        if not readers or not queues:
            continue
        try:
            positions = strategy.positions_of_all(queues, everyone[topic].cids)
        except AllocationError:
            return None
        for id, cid in readers:
            owned[id] += map(queues.__getitem__, sorted({*positions.get(cid, ())}))
    return Allocation.trusted(group, {id: tuple(queues) for id, queues in owned.items()})


class _Running(NamedTuple):
    member: Member
    strategy: Strategy


def _alike(group: Group, runs: Iterable[Strategy], views: Mapping[str, View]) -> Iterable[list[_Running]]:
    """The members, put together where they run the same strategy object with the same view."""
    found: dict[tuple[int, int], list[_Running]] = {}
    for member, strategy in zip(group.members, runs, strict=True):
        found.setdefault((id(strategy), id(views.get(member.id))), []).append(_Running(member, strategy))
    return found.values()


class _Answers:
    """What strategies answer. A question that many members ask is answered for all of them in one go."""

    def __init__(self, consumer_group: str) -> None:
        self._consumer_group = consumer_group
        self._of_all: dict[tuple[int, Seen], Mapping[str, Positions] | None] = {}

    def of(self, strategy: Strategy, cid: str, seen: Seen, asked_by_many: bool) -> Sequence[Queue] | None:
        """The queues of a topic that a member is to own after its pass, None where nothing changes."""
        if seen.queues is None or not seen.cids:
            return None
        if asked_by_many and cid:
            key = id(strategy), seen
            if key not in self._of_all:
                self._of_all[key] = _positions_of_all(strategy, seen)
            of_all = self._of_all[key]
            if of_all is not None:
                return queues_at(of_all.get(cid, ()), seen.queues)
        try:
            return strategy.allocate(self._consumer_group, cid, seen.queues, seen.cids) or ()
        except AllocationError:
            return None


def _positions_of_all(strategy: Strategy, seen: Seen) -> Mapping[str, Positions] | None:
    """None where each member has to ask for itself: the strategy fails for somebody, or picks no positions."""
    if not isinstance(strategy, PositionStrategy):
        return None
    try:
        return strategy.positions_of_all(seen.queues, seen.cids)
    except AllocationError:
        return None


def _apply(table: Table, topic: str, target: Sequence[Queue]) -> None:
    """Update a member's table: queues of this topic outside the target go, all of the target come (spec 4.8, 5)."""
    table[topic] = {}
    for queue in target:
        table.setdefault(queue.topic, {})[queue] = None


def _table(queues: Iterable[Queue]) -> Table:
    table: Table = {}
    for queue in queues:
        table.setdefault(queue.topic, {})[queue] = None
    return table


def _existing(group: Group, owned: Mapping[str, Sequence[Queue]]) -> dict[str, list[Queue]]:
    """Without the queues that only a view, a configured list or a former allocation knows."""
    existing = set(group.queues)
    return {member_id: [queue for queue in queues if queue in existing] for member_id, queues in owned.items()}
