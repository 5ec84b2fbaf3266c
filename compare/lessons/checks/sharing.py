"""Exercises about who gets which queues: notebooks 1 (what a group is), 3 (everyone allocates for himself), 4 (the
strategies), 6 (fairness)."""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations_with_replacement, product

from compare import fairness
from compare.lessons.checks.kinds import (
    TOPICS,
    Exercise,
    called,
    function,
    is_several,
    is_text,
    is_whole,
    mapping,
    several,
    whole,
)
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue
from rocketmq_selfbalance import View, allocate


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


_SHARES = mapping("a mapping from each member to the list of its queues", lambda queues: is_several(queues, is_whole))


_GROUP_NAMES = ("m0", "m1", "m2", "blue", "red", "m10", "c1")
"""No number can be read off all of them, and they are not always in order."""


def _share(answer: Callable[[int, list[str]], Mapping[str, list[int]]]) -> str | None:
    for count, members in (*product(range(14), range(1, 8)), (100, 7)):
        names = [_GROUP_NAMES[(at + count) % len(_GROUP_NAMES)] for at in range(members)]
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


_GROUPS = {
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


def _one_topic(queues: int, members: int) -> Group:
    names = [f"c{at}" for at in range(1, members + 1)]
    return Group.of(topics={"orders": queues}, members={name: ["orders"] for name in names})


def _doubled(answer: Iterable[int]) -> str | None:
    found = allocate("AVG", _one_topic(8, 4), views={name: View(members=["c1", "c2"]) for name in ("c1", "c2")})
    right = {queue.number for queue in found.double_owned}
    given = set(answer)
    if given - right:
        return f"Queue {min(given - right)} has one owner: which other member would compute it as its own?"
    if right - given:
        return "More queues have two owners. What do the two members compute that see half of the group?"
    return None


def _seen(answer: Mapping[str, Iterable[str]]) -> str | None:
    if sorted(answer) != ["c1", "c2", "c3"]:
        return "Give for each of c1, c2 and c3 the ids that it sees."
    for member, listed in answer.items():
        if member not in listed:
            return f"{member} does not see itself. (It would release all its queues, which is correct but too easy.)"
    views = {member: View(members=list(listed)) for member, listed in answer.items()}
    found = allocate("AVG", _one_topic(6, 3), views=views)
    if found.double_owned:
        return f"Queue {found.double_owned[0].number} has two owners: {', '.join(found.owners[found.double_owned[0]])}."
    if not found.unowned:
        return "Every queue has an owner. What if a member sees another that no longer exists?"
    return None


_ROCKETMQ = {
    "3.1": Exercise(
        several("a set of queue numbers from 0 to 7", lambda each: is_whole(each, least=0, most=7)),
        _doubled,
        "A member that sees fewer members than exist takes too many queues.",
    ),
    "3.2": Exercise(
        mapping("a mapping from each member to the list of ids that it sees", lambda ids: is_several(ids, is_text)),
        _seen,
        "A member that sees members that do not exist leaves queues to them.",
    ),
}


_MOST_QUEUES = 12
_CIRCLE_NAMES = ("c1", "c2", "c3", "blue", "red", "c10", "m7")
"""No place can be read off all of them."""


def _circle(answer: Callable[[int, list[str], str], Iterable[int]]) -> str | None:
    for queues, count in product(range(1, 13), range(1, 8)):
        names = sorted(_CIRCLE_NAMES[(at + queues) % len(_CIRCLE_NAMES)] for at in range(count))
        right = allocate("AVG_BY_CIRCLE", Group.of(topics={"t": queues}, members={name: ["t"] for name in names}))
        for name in names:
            found = called(answer, queues, names, name, gives=several("the list of the member's queues", is_whole))
            if list(found) != [queue.number for queue in right[name]]:
                return f"With {queues} queues and the members {names}, {name} gets {list(found)}: what is its place?"
    return None


def _piling(answer: Mapping[str, int]) -> str | None:
    topics = {topic: int(queues) for topic, queues in answer.items()}
    if sum(topics.values()) > _MOST_QUEUES:
        return f"These are {sum(topics.values())} queues: it can be done with {_MOST_QUEUES}."
    group = Group.of(topics=topics, members={name: list(topics) for name in ("c1", "c2", "c3")})
    piled, dealt = fairness(allocate("AVG", group)), fairness(assign("roundrobin", group))
    if (piled.spread or 0) < 6:
        return f"Under AVG they differ by {piled.spread}. How much does one topic add at the most?"
    if (dealt.spread or 0) > 1:
        return f"Under round-robin they differ by {dealt.spread}, too."
    return None


_STRATEGIES = {
    "4.1": Exercise(
        function("queues", "members", "me"),
        _circle,
        "The queues start at the member's own position and are as many steps apart as there are members.",
    ),
    "4.2": Exercise(TOPICS, _piling, "Every topic whose queues do not divide evenly adds one."),
}


def _loads(sizes: tuple[int, ...]) -> Allocation:
    names = [f"c{at}" for at in range(len(sizes))]
    group = Group.of(topics={"t": sum(sizes)}, members={name: ["t"] for name in names})
    queues = iter(group.queues)
    return Allocation(
        group, {name: [next(queues) for _ in range(size)] for name, size in zip(names, sizes, strict=True)}
    )


def _is_queue(each: object) -> bool:
    return isinstance(each, tuple | list) and len(each) == 2 and is_text(each[0]) and is_whole(each[1])


def _lowest(answer: Iterable[int]) -> str | None:
    sizes = tuple(map(int, answer))
    if len(sizes) != 4 or sum(sizes) != 12:
        return "The answer must be four loads that add up to 12."
    found = fairness(_loads(sizes))
    if found.max_over_mean != 2:
        return f"The maximum over mean of that is {found.max_over_mean:g}."
    others = (
        combination
        for combination in combinations_with_replacement(range(13), 4)
        if sum(combination) == 12 and max(combination) == 6
    )
    if any((fairness(_loads(other)).jain or 0) < (found.jain or 0) for other in others):
        return f"The Jain index of that is {found.jain:.3f}: it can be lower."
    return None


def _lopsided(answer: Mapping[str, Iterable[tuple[str, int]]]) -> str | None:
    group = Group.of(topics={"A": 3, "B": 3, "C": 3}, members={name: ["A", "B", "C"] for name in ("c1", "c2", "c3")})
    allocation = Allocation(
        group,
        {member: [Queue(topic, "", int(number)) for topic, number in queues] for member, queues in answer.items()},
    )
    allocation.check()
    found = fairness(allocation)
    if found.jain != 1:
        return f"The members have {', '.join(str(len(queues)) for queues in allocation.values())} queues."
    for topic, of_topic in found.topics.items():
        if (of_topic.jain or 0) > 0.6:
            return f"Topic {topic} has a Jain index of {of_topic.jain:.2f}: which member could own more of it?"
    return None


_FAIRNESS = {
    "6.1": Exercise(
        several("a list of four whole numbers", lambda each: is_whole(each, least=0)),
        _lowest,
        "The largest load is unchanged, but Jain's index is as low as if half of the members were missing.",
    ),
    "6.2": Exercise(
        mapping(
            'a mapping from member to a list of (topic, number), such as {"c1": [("A", 0)]},',
            lambda queues: is_several(queues, _is_queue),
        ),
        _lopsided,
        "The totals are even. The allocation is still unfair if the topics are not equally busy.",
    ),
}

EXERCISES = _GROUPS | _ROCKETMQ | _STRATEGIES | _FAIRNESS
"""Number to the exercise."""
