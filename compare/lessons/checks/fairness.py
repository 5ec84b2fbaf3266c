"""Notebook 6: fairness."""

from collections.abc import Iterable, Mapping
from itertools import combinations_with_replacement

from compare import fairness
from compare.lessons.checks.kinds import Exercise, is_several, is_text, is_whole, mapping, several
from protocols import Allocation, Group, Queue


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


EXERCISES = {
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
"""Number to the exercise."""
