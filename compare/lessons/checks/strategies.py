"""Notebook 4: the strategies."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product

from compare import fairness
from compare.lessons.checks.kinds import TOPICS, Exercise, called, function, is_whole, several
from kafka_coordinator import assign
from protocols import Group
from rocketmq_selfbalance import allocate

_MOST_QUEUES = 12
_NAMES = ("c1", "c2", "c3", "blue", "red", "c10", "m7")
"""No place can be read off all of them."""


def _circle(answer: Callable[[int, list[str], str], Iterable[int]]) -> str | None:
    for queues, count in product(range(1, 13), range(1, 8)):
        names = sorted(_NAMES[(at + queues) % len(_NAMES)] for at in range(count))
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


EXERCISES = {
    "4.1": Exercise(
        function("queues", "members", "me"),
        _circle,
        "The queues start at the member's own position and are as many steps apart as there are members.",
    ),
    "4.2": Exercise(TOPICS, _piling, "Every topic whose queues do not divide evenly adds one."),
}
"""Number to the exercise."""
