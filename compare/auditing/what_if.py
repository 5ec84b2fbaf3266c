"""What the group would look like under every other strategy, with other members, with more queues.

Why every strategy is run on the very group instead of judged by its rule: how fair a strategy is depends on how many
queues, topics and members there are, and which member reads what. The systems' own strategies, as the model has them,
answer just that. What they need and the sources do not tell (the ids of members still to come, the brokers of queues
still to be made) is chosen by a rule, the same in every run.

The optimum is a row of its own, so that a user sees how far each strategy is from it. With weights, queues without
weight go to members that have no queue: no load changes, and fewer members are idle.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import fsum
from typing import TypeAlias, cast

from compare.catalogues import ROCKETMQ
from compare.documents.audit import WhatIfRecord
from compare.figures.definitions import jain_of
from compare.optima import fairest_loads, optimum
from compare.reading.group_model import KAFKA, Modelled
from kafka_coordinator import assign
from protocols import Allocation, Group, Member, Queue, UserError
from rocketmq_selfbalance import allocate


def with_idle_employed(allocation: Allocation, weights: Mapping[Queue, int | float]) -> Allocation:
    """As few idle members as queues without weight can leave; the allocation itself where none can be employed.

    Members that own no other queue each keep one of them; an idle member gets a spare one of a topic that it reads, or
    that of a member who gets another one instead (augmenting paths over topics).
    """
    owned = {id: list(queues) for id, queues in allocation.items()}
    if all(owned.values()):
        return allocation
    keeps: dict[str, Queue] = {}
    spare: dict[str, list[tuple[str, Queue]]] = {}
    keepers: dict[str, list[str]] = {}
    for id, queues in owned.items():
        weightless = [queue for queue in queues if not weights[queue]]
        if weightless and len(weightless) == len(queues):
            keeps[id] = weightless.pop()
            keepers.setdefault(keeps[id].topic, []).append(id)
        for queue in weightless:
            spare.setdefault(queue.topic, []).append((id, queue))
    reads = {member.id: member.subscription for member in allocation.group.members}
    moved = False
    for idle in [id for id, queues in owned.items() if not queues]:
        path = _path(idle, reads, spare, keepers)
        if not path:
            continue
        moved = True
        owner, queue = spare[path[-1][1]].pop()
        for member, topic in reversed(path):
            # The last one takes the spare queue, each one before it what its follower had.
            owned[owner].remove(queue)
            owned[member].append(queue)
            keepers.setdefault(topic, []).append(member)
            former = keeps.get(member)
            keeps[member] = queue
            if former is None:
                break
            keepers[former.topic].remove(member)
            owner, queue = member, former
    return Allocation(allocation.group, owned) if moved else allocation


def _path(
    idle: str,
    reads: Mapping[str, tuple[str, ...]],
    spare: Mapping[str, list[tuple[str, Queue]]],
    keepers: Mapping[str, list[str]],
) -> list[tuple[str, str]]:
    """(member, topic of the queue that it takes) from the idle member to one who takes a spare queue; [] if none."""
    came: dict[str, tuple[str, str] | None] = {idle: None}
    seen: set[str] = set()
    waiting = [idle]
    for member in waiting:
        for topic in reads[member]:
            if topic in seen:
                continue
            seen.add(topic)
            if spare.get(topic):
                path = [(member, topic)]
                while (before := came[path[-1][0]]) is not None:
                    path.append(before)
                return path[::-1]
            for keeper in keepers.get(topic, ()):
                if keeper not in came:
                    came[keeper] = (member, topic)
                    waiting.append(keeper)
    return []


MOST_QUEUES_TO_KEEP = 2_000_000
"""Members times topics up to which the optimum's fewest moves are searched; beyond, they are None."""


Weights: TypeAlias = Mapping[Queue, int | float]
"""Lag or rate of every queue."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A strategy's figures for a group: queues (or weight) per member, and queues that change their owner from today's.

    ``system`` is ``kafka``, ``rocketmq``, or ``optimum`` for the best that the subscriptions allow. ``reachable``: a
    setting of the group's own members leads there. A queue that has no owner today, or only one who is gone, does not
    count as a move. The figures of load are None in a group without members, and where the strategy leaves queues
    without owner, gives them to two, or to members that do not read them: low loads are no merit then.
    """

    system: str
    strategy: str
    max: float | None
    min: float | None
    idle_members: int | None
    jain: float | None
    moves: int | None
    unowned_queues: int
    double_owned_queues: int
    reachable: bool = True
    why: str | None = None
    """Why there are no figures of load; a clause."""

    def as_json(self) -> WhatIfRecord:
        """As in the audit's document."""
        return cast(WhatIfRecord, asdict(self))


def changed(
    modelled: Modelled,
    *,
    members: int | None = None,
    without: Sequence[str] = (),
    queues: Mapping[str, int] | None = None,
) -> Modelled:
    """The group after members left (``without``: their ids), topics got more queues, and with this number of members.

    ``queues``: topic to its new number of queues; RocketMQ's are dealt over the topic's brokers, fewest first. Where
    ``members`` is more than there are, ``new-1``, ``new-2``, ... join and read all topics that others read; where it
    is less, the last ones by id leave. `UserError` for unknown members or topics, a topic that would shrink, or no
    member at all.
    """
    group = modelled.group
    for id in without:
        if id not in group:
            raise UserError(f"--without {id}: group {group.name} has no member of this id")
    group = group.without(*without)
    if queues:
        group = replace(group, topics={**group.topics, **_grown(group, queues)})
    if members is not None:
        if members < 1:
            raise UserError(f"--members {members}: expected 1 or more")
        group = _resized(group, members)
    today = Allocation(group, {id: owned for id, owned in modelled.today.items() if id in group})
    return replace(modelled, group=group, today=today)


def what_if(
    modelled: Modelled,
    *,
    members: int | None = None,
    without: Sequence[str] = (),
    queues: Mapping[str, int] | None = None,
    usable: Collection[str] | None = None,
    weights: Weights | None = None,
) -> tuple[WhatIf, ...]:
    """The group, changed as `changed` says, under every strategy of both systems that needs no further settings.

    Strategies that look at the past are given today's ownership. What cooperative-sticky withholds for a round is
    counted where it goes. A strategy that fails for this group, as the real one does, is left out. ``usable``: the
    strategies that the group can be set to, all where left out. ``weights``: what loads are sums of, else queues count.
    """
    after = changed(modelled, members=members, without=without, queues=queues)
    found = []
    for system, names in (("kafka", KAFKA), ("rocketmq", ROCKETMQ)):
        for name in names:
            allocation = under(after, name)
            if allocation is not None:
                reachable = usable is None or name in usable
                found.append(_row(system, name, allocation, after.today, reachable, weights))
    return tuple(found)


def optimum_row(
    modelled: Modelled,
    *,
    members: int | None = None,
    without: Sequence[str] = (),
    queues: Mapping[str, int] | None = None,
    weights: Weights | None = None,
) -> WhatIf:
    """The best that the subscriptions allow, and the fewest moves to it; arguments as in `what_if`.

    With weights nobody can be sure to find the best in reasonable time: where a strategy's answer is better than what
    was found, it is that. Members without a queue are given some that weigh nothing, where others have several.
    """
    after = changed(modelled, members=members, without=without, queues=queues)
    small = len(after.group.members) * len(after.group.topics) <= MOST_QUEUES_TO_KEEP
    best = optimum(after.group, after.today, weights, moves=small)
    if best.max is None or best.min is None:
        return WhatIf("optimum", "optimum", None, None, None, None, None, 0, 0)
    moves = best.moves if small else None
    found = WhatIf("optimum", "optimum", _plain(best.max), _plain(best.min), best.idle_members, best.jain, moves, 0, 0)
    if weights is None:
        return found
    answers = [
        answer for name in (*KAFKA, *ROCKETMQ) if (answer := under(after, name)) is not None and not _fault(answer)
    ]
    least = min((_idle(answer) for answer in answers), default=0)
    candidates = [best.allocation, *answers]
    if (best.idle_members or 0) > least:
        # Sparing moves kept somebody idle.
        candidates.append(optimum(after.group, None, weights, moves=False).allocation)
    employed = [with_idle_employed(candidate, weights) for candidate in candidates]
    closest = min(employed, key=lambda each: (sorted(_loads(each, weights), reverse=True), _idle(each)))
    return found if closest is best.allocation else _row("optimum", "optimum", closest, after.today, True, weights)


def _idle(allocation: Allocation) -> int:
    return sum(not queues for queues in allocation.values())


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def under(modelled: Modelled, strategy: str) -> Allocation | None:
    """The group's next allocation under a strategy of `KAFKA` or `ROCKETMQ`; None where the real one fails."""
    try:
        if strategy in ROCKETMQ:
            return allocate(strategy, modelled.group)
        return with_withheld(assign(strategy, modelled.group, modelled.today))
    except UserError:
        return None


def with_withheld(allocation: Allocation) -> Allocation:
    """The allocation with what cooperative-sticky withholds for a round counted where it goes."""
    if not allocation.withheld:
        return allocation
    owned = {id: list(queues) for id, queues in allocation.items()}
    for queue, id in allocation.withheld.items():
        owned[id].append(queue)
    return Allocation(allocation.group, owned, gone=allocation.vanished)


def loads_of(allocation: Mapping[str, Sequence[Queue]]) -> list[int]:
    """Queues per member, in the allocation's order."""
    return [len(queues) for queues in allocation.values()]


def _row(
    system: str, name: str, allocation: Allocation, today: Allocation, reachable: bool, weights: Weights | None
) -> WhatIf:
    loads = _loads(allocation, weights)
    broken = len(allocation.unowned), len(allocation.double_owned)
    moves = moves_between(allocation, today) if loads else None
    why = _fault(allocation) if loads else "the group has no member"
    if why is not None:
        return WhatIf(system, name, None, None, None, None, moves, *broken, reachable, why)
    return WhatIf(system, name, *_of_loads(loads, _idle(allocation)), moves, *broken, reachable)


def best_row(group: Group) -> WhatIf:
    """As `optimum_row` counting queues, without looking for the fewest moves."""
    loads = best_loads(group)
    return WhatIf("optimum", "optimum", *_of_loads(loads, loads.count(0)), None, 0, 0)


def _of_loads(loads: Sequence[float], idle: int) -> tuple[float, float, int, float]:
    """Largest and smallest load, idle members, Jain's index."""
    return _plain(max(loads)), _plain(min(loads)), idle, jain_of(loads)


def _fault(allocation: Allocation) -> str | None:
    """What makes an allocation's loads no merit."""
    faults = (
        (allocation.unowned, "without an owner"),
        (allocation.double_owned, "with two owners"),
        (allocation.unsubscribed, "with owners that do not read them"),
    )
    found = [f"{len(queues)} queue{'s' if len(queues) > 1 else ''} {words}" for queues, words in faults if queues]
    return f"it leaves {' and '.join(found)}" if found else None


def _loads(allocation: Allocation, weights: Weights | None) -> list[int] | list[float]:
    if weights is None:
        return loads_of(allocation)
    return [_total([weights[queue] for queue in queues]) for queues in allocation.values()]


def _total(weights: Sequence[int | float]) -> float:
    """Whole numbers exactly, others rounded once, so that equal loads are equal in whatever order they are added."""
    if all(isinstance(weight, int) for weight in weights):
        return sum(weights)
    return _plain(fsum(weights))


def moves_between(allocation: Allocation, today: Allocation) -> int:
    """Queues that have an owner today and get one who does not own them today; whoever is not there today owned
    nothing."""
    owned_today = {queue for queues in today.values() for queue in queues}
    moved: set[Queue] = set()
    for id, queues in allocation.items():
        moved.update(owned_today.intersection(queues).difference(today.get(id, ())))
    return len(moved)


def best_loads(group: Group) -> tuple[int, ...]:
    """The fairest loads, descending: by counting where all members subscribe to the same topics."""
    if len({frozenset(member.subscription) for member in group.members}) == 1:
        topics = set(group.members[0].subscription)
        queues = sum(len(of_topic) for topic, of_topic in group.topics.items() if topic in topics)
        even, more = divmod(queues, len(group.members))
        return tuple(even + (n < more) for n in range(len(group.members)))
    return fairest_loads(group)


def _grown(group: Group, queues: Mapping[str, int]) -> dict[str, tuple[Queue, ...]]:
    grown = {}
    for topic, count in queues.items():
        if topic not in group.topics:
            raise UserError(f"topic {topic}: group {group.name} does not read it, expected {', '.join(group.topics)}")
        of_topic = list(group.topics[topic])
        if count < len(of_topic):
            raise UserError(
                f"topic {topic}: {count} queues, expected at least the {len(of_topic)} that the topic has,"
                " because topics cannot shrink"
            )
        brokers: dict[str, int] = {}
        following: dict[str, int] = {}
        for queue in of_topic:
            brokers[queue.broker] = brokers.get(queue.broker, 0) + 1
            following[queue.broker] = max(following.get(queue.broker, 0), queue.number + 1)
        while len(of_topic) < count:
            broker = min(brokers or {"": 0}, key=lambda each: brokers[each])
            of_topic.append(Queue(topic, broker, following[broker]))
            brokers[broker] += 1
            following[broker] += 1
        grown[topic] = tuple(sorted(of_topic))
    return grown


def _resized(group: Group, members: int) -> Group:
    there = sorted(group.members, key=lambda member: member.id)
    if members <= len(there):
        kept = {member.id for member in there[:members]}
        return replace(group, members=tuple(member for member in group.members if member.id in kept))
    read = tuple(dict.fromkeys(topic for member in group.members for topic in member.subscription)) or tuple(
        group.topics
    )
    new: list[Member] = []
    number = 0
    while len(there) + len(new) < members:
        number += 1
        if f"new-{number}" not in group:
            new.append(Member(f"new-{number}", read))
    return replace(group, members=(*group.members, *new))
