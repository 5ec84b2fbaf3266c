"""Notebook 5: progress."""

from typing import Any

from checks.kinds import Exercise, Kind, called, function, is_text, number
from protocols.offsets import OffsetSet
from protocols.scenario.reading import scenario
from runs import figures, run


def _moment(answer: Any) -> str | None:
    day = scenario(
        name="crash",
        brokers=["broker-a", "broker-b"],
        topics={"orders": 6},
        group={"name": "billing", "members": {"c1": ["orders"], "c2": ["orders"], "c3": ["orders"]}},
        load={"produce": "10/s"},
        run={"for": "3min", "seed": 1},
        events=[{"at": answer, "crash": "c2"}],
    )
    at = day.events[0].at / 1000
    if not 60 <= at <= 70:
        return "Between 60 and 70 seconds, please."
    found = figures(run(day, "kafka:range"))["redelivered"]
    if found < 80:
        return f"{found} records are handled twice. Commits come each 5 s: is that just after one, or just before?"
    return None


def _committable(answer: Any) -> str | None:
    cases = ((100, ()), (100, (100,)), (100, (101, 102)), (100, (100, 101, 103)), (0, (0, 1, 2, 3)), (7, (9, 7, 8, 12)))
    for first, finished in cases:
        right = OffsetSet((each, each + 1) for each in finished).next_missing(first)
        if called(answer, first, set(finished), gives=number("the offset that may be committed")) != right:
            return f"With {first} the first and {sorted(finished)} done a successor would skip a record, or repeat one."
    return None


EXERCISES = {
    "5.1": Exercise(
        Kind('a time with its unit, such as "62s",', is_text),
        _moment,
        "Just before the next commit, nearly a whole interval of work is not committed yet.",
    ),
    "5.2": Exercise(
        function("first", "finished"),
        _committable,
        "All records below this offset are handled, which is the only condition.",
    ),
}
"""Number to the exercise."""
