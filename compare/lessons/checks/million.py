"""Notebook 8: a million groups."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Protocol

from compare.lessons.checks.kinds import Exercise, Kind, called, function, lived_through, number
from kafka_coordinator import assign
from protocols import Group

_FIGURES = "group long, members long, idle_members long, queues long, jain double"
_ROWS = [
    (number, members, idle, queues, 1 - 0.9 * idle / members)
    for number, (members, idle, queues) in enumerate(
        (members, idle, queues)
        for members in range(1, 7)
        for idle in range(members)
        for queues in range(members - idle, members + 4)
    )
]
"""Every number of members, idle ones and queues, the needless and the others beside each other."""


class _Frame(Protocol):
    def collect(self) -> Iterable[Mapping[str, object]]: ...


def _owner(answer: Callable[[int, int, int], int]) -> str | None:
    for q, n in product(range(1, 21), range(1, 9)):
        group = Group.of(topics={"t": q}, members={str(member): ["t"] for member in range(n)})
        owners = assign("range", group).owners
        for queue in group.queues:
            found = called(answer, queue.number, q, n, gives=number("the number of a member"))
            if found != int(owners[queue][0]):
                return f"With {q} queues and {n} members, queue {queue.number} goes to the wrong one."
    return None


def _needlessly(answer: Callable[[object], _Frame]) -> str | None:
    from compare import spark

    figures = spark.session().createDataFrame(_ROWS, _FIGURES)
    found = lived_through(lambda: answer(figures), "Your function")
    Kind(
        "a DataFrame with the column group", lambda value: isinstance(value, type(figures)) and "group" in value.columns
    ).demand(found)
    groups = {row["group"] for row in lived_through(found.collect, "What your function returns")}
    right = {row["group"] for row in figures.collect() if row["idle_members"] and row["queues"] >= row["members"]}
    wrong = next((row for row in figures.collect() if row["group"] in groups - right), None)
    if wrong:
        return f"A group with {wrong['queues']} queues and {wrong['members']} members is none of them."
    if right - groups:
        return "One is missing. Is it one with exactly as many queues as members?"
    return None


EXERCISES = {
    "8.1": Exercise(
        function("queue", "q", "n"), _owner, "Arithmetic on columns is what Spark does without any Python."
    ),
    "8.2": Exercise(
        function("figures"),
        _needlessly,
        "These groups should change first, because one line of configuration is enough.",
    ),
}
"""Number to the exercise."""
