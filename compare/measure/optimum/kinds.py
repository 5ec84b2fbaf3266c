"""Queues that are the same to everybody: who may take them, who owns them today.

The levels of the fairest loads cut a group into blocks (see `semi_matching`). The queues of a topic go to its
subscribers in the lowest of their blocks and to nobody else. Within a block queues are of one kind if the same members
may take them and, where several own them today, the same members do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.measure.optimum.problem import Bundle, Problem
from compare.measure.optimum.semi_matching import Level
from protocols import Queue


@dataclass(slots=True)
class Kind:
    """Queues that ``takers`` (positions of members) may take.

    ``kept``: member to how many of these queues it can keep; together these are no more than there are queues, except
    where every queue has several owners (``shared``).
    """

    takers: frozenset[int]
    shared: bool = False
    queues: list[Queue] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """Members (positions) who get ``level`` or ``level + 1`` queues each, all from these kinds."""

    level: int
    members: tuple[int, ...]
    kinds: tuple[Kind, ...]


def blocks_of(bundles: Sequence[Bundle], levels: Sequence[Level]) -> list[list[tuple[Bundle, frozenset[int]]]]:
    """Per level the bundles whose units go there, each with the classes of that level that take them."""
    place = {each: n for n, level in enumerate(levels) for each in level.classes}
    found: list[list[tuple[Bundle, frozenset[int]]]] = [[] for _ in levels]
    for bundle in bundles:
        lowest = max(place[each] for each in bundle.classes)
        found[lowest].append((bundle, bundle.classes & levels[lowest].classes))
    return found


def queues_by_kind(
    topics: Mapping[str, Sequence[Queue]],
    problem: Problem,
    levels: Sequence[Level],
    owners: Mapping[Queue, tuple[int, ...]],
) -> list[Block]:
    """The blocks with their kinds of queues, those of ``topics``.

    ``owners``: queue to the positions of the members who own it today and subscribe to its topic.
    """
    blocks = []
    for level, bundles in zip(levels, blocks_of(problem.bundles, levels), strict=True):
        kinds: dict[tuple[frozenset[int], tuple[int, ...]], Kind] = {}
        takers_of: dict[frozenset[int], frozenset[int]] = {}
        for bundle, classes in bundles:
            if classes not in takers_of:
                takers_of[classes] = frozenset(member for each in classes for member in problem.classes[each])
            takers = takers_of[classes]
            for topic in bundle.topics:
                for queue in topics[topic]:
                    keepers = tuple(owner for owner in owners.get(queue, ()) if owner in takers)
                    key = classes, keepers if len(keepers) > 1 else ()
                    kind = kinds.get(key)
                    if kind is None:
                        kind = kinds[key] = Kind(takers, shared=len(keepers) > 1)
                    kind.queues.append(queue)
                    for keeper in keepers:
                        kind.kept[keeper] = kind.kept.get(keeper, 0) + 1
        members = sorted(member for each in level.classes for member in problem.classes[each])
        blocks.append(Block(level.level, tuple(members), tuple(kinds.values())))
    return blocks
