"""Notebook 1: what a group is."""

from collections.abc import Callable, Mapping
from itertools import product

from compare import fairness
from compare.lessons.checks.kinds import Exercise, called, function, is_several, is_whole, mapping, whole
from kafka_coordinator import assign
from protocols import Group


def _uneven(queues: int, sizes: tuple[int, ...] = (2, 3, 4, 6)) -> list[int]:
    """The group sizes with which this many queues cannot be shared evenly."""
    groups = {size: Group.of(topics={"t": queues}, members={f"c{at}": ["t"] for at in range(size)}) for size in sizes}
    return [size for size, group in groups.items() if fairness(assign("roundrobin", group)).spread]


def _number(answer: int) -> str | None:
    uneven = _uneven(int(answer))
    if uneven:
        return f"With {uneven[0]} members one member gets more than another."
    if any(not _uneven(fewer) for fewer in range(1, answer)):
        return "This number is even for every size of the group, but a smaller number is, too."
    return None


_SHARES = mapping(
    "a mapping from each member to the list of its queues",
    lambda queues: is_several(queues, is_whole),
)


_NAMES = ("m0", "m1", "m2", "blue", "red", "m10", "c1")
"""No number can be read off all of them, and they are not always in order."""


def _share(answer: Callable[[int, list[str]], Mapping[str, list[int]]]) -> str | None:
    for count, members in (*product(range(14), range(1, 8)), (100, 7)):
        names = [_NAMES[(at + count) % len(_NAMES)] for at in range(members)]
        found = called(answer, count, names, gives=_SHARES)
        if sorted(found) != sorted(names):
            return f"With {members} members the mapping has other members, or not all of them (idle ones too, please)."
        dealt = sorted(queue for queues in found.values() for queue in queues)
        if dealt != list(range(count)):
            return f"With {count} queues and {members} members some queue has no owner, or two."
        lengths = [len(queues) for queues in found.values()]
        if max(lengths) - min(lengths) > 1:
            return f"With {count} queues and {members} members one member has at least two queues more than another."
    return None


EXERCISES = {
    "1.1": Exercise(
        whole("a whole number from 1 to 1000", least=1, most=1000),
        _number,
        "It is the least common multiple of the sizes.",
    ),
    "1.2": Exercise(
        function("count", "members"),
        _share,
        "The function is a strategy: every member that computes it gets the same result, which matters in notebook 3.",
    ),
}
"""Number to the exercise."""
