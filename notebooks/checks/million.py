"""Notebook 8: a million groups."""

from typing import Any

from checks.kinds import Exercise, Kind, called, function, lived_through, number
from kafka_coordinator import assign
from protocols import Group

_FIGURES = "group long, members long, idle_members long, queues long, jain double"
_ROWS = [
    (1, 4, 2, 4, 0.5),
    (2, 4, 0, 4, 1.0),
    (3, 8, 3, 5, 0.625),
    (4, 3, 1, 9, 0.6),
    (5, 2, 0, 1, 1.0),
    (6, 5, 1, 5, 0.7),
]


def _owner(answer: Any) -> str | None:
    for q, n in ((1, 1), (6, 3), (7, 3), (2, 5), (12, 8), (11, 2)):
        group = Group.of(topics={"t": q}, members={str(member): ["t"] for member in range(n)})
        owners = assign("range", group).owners
        for queue in group.queues:
            found = called(answer, queue.number, q, n, gives=number("the number of a member"))
            if found != int(owners[queue][0]):
                return f"With {q} queues and {n} members, queue {queue.number} goes to the wrong one."
    return None


def _needlessly(answer: Any) -> str | None:
    from compare import spark

    figures = spark.session().createDataFrame(_ROWS, _FIGURES)
    found = lived_through(lambda: answer(figures), "Your function")
    Kind(
        "a DataFrame with the column group",
        lambda value: isinstance(value, type(figures)) and "group" in value.columns,
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
