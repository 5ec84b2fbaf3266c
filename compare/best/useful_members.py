"""How many members a group needs: the next number that lowers what the most loaded one has, and numbers that divide."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from itertools import count as numbers
from math import gcd

from compare.best.optima import fairest_loads
from compare.best.record import Optimum
from protocols import Group, GroupError, Member


@dataclass(frozen=True, slots=True)
class Step:
    """What a number of members leads to: the largest and smallest number of queues, and how many members idle."""

    members: int
    max: int
    min: int
    idle_members: int


@dataclass(frozen=True, slots=True)
class NextUseful:
    """With ``added`` members more, ``members`` in all, the maximum falls to ``max`` queues; with fewer it stays.

    It is enough that the new ones subscribe to ``topics``, sorted. Other topics that have subscribers do no harm.
    """

    added: int
    members: int
    max: int
    topics: tuple[str, ...]


def next_useful(best: Optimum) -> NextUseful | None:
    """The least number of new members that lowers the maximum of an unweighted optimum; None where nothing can.

    In a fairest allocation as few members as can be have the maximum M, say E of them: what exceeds M - 1 queues is one
    queue each and cannot be less. New members take up to M - 1 queues each, hence E / (M - 1) of them, rounded up.
    Raises ValueError for a weighted optimum.
    """
    if best.certificate is None:
        raise ValueError("the optimum is weighted, expected one that counts queues")
    loads = {member: len(queues) for member, queues in best.allocation.items()}
    most = max(loads.values(), default=0)
    if most <= 1:
        return None
    loaded = [member for member, load in loads.items() if load == most]
    added = -(-len(loaded) // (most - 1))
    topics = {
        topic
        for block in best.certificate.blocks
        if any(member in block.members for member in loaded)
        for topic in block.topics
    }
    group = best.allocation.group
    new = (Member(id, tuple(sorted(topics))) for id in islice(_free_ids(group), added))
    grown = replace(group, members=(*group.members, *new))
    return NextUseful(added, len(grown.members), max(fairest_loads(grown)), tuple(sorted(topics)))


def with_members(group: Group, count: int) -> Group:
    """The group with its first ``count`` members, or with further ones who subscribe as these do, in turn.

    New members are called new-1, new-2 and so on, are not static, and share the racks of those whom they imitate.
    Raises `GroupError` for a group without members, where there is nobody to imitate, and for a count below 0.
    """
    if count < 0 or (count and not group.members):
        raise GroupError(f"group {group.name!r} has {len(group.members)} members and cannot be given {count}")
    new = (
        replace(like, id=id, instance_id=None, client_id=None, process=None)
        for id, like in zip(_free_ids(group), cycle(group.members), strict=False)
    )
    return replace(group, members=tuple(islice(chain(group.members, new), count)))


def _free_ids(group: Group) -> Iterator[str]:
    return (f"new-{number}" for number in numbers(1) if f"new-{number}" not in group)


def steps(group: Group, loads: Callable[[Group], Sequence[int]], counts: Iterable[int]) -> tuple[Step, ...]:
    """What each number of members leads to; ``loads`` gives the numbers of queues under a strategy (or the optimum)."""
    found = []
    for count in counts:
        each = loads(with_members(group, count))
        found.append(Step(count, max(each, default=0), min(each, default=0), sum(not load for load in each)))
    return tuple(found)


def useful(found: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, given with rising numbers of members, that lower the maximum below that of every step before."""
    kept: list[Step] = []
    for step in found:
        if not kept or step.max < kept[-1].max:
            kept.append(step)
    return tuple(kept)


def even_counts(queues: Iterable[int]) -> tuple[int, ...]:
    """The numbers of members over which every one of these numbers of queues divides evenly, ascending.

    Given the topics' numbers of queues, these are even under every strategy where all subscribe to all topics; given
    their sum alone, under those that balance a member's total.
    """
    common = gcd(*queues)
    return tuple(count for count in range(1, common + 1) if common % count == 0)
