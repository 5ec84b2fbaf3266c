"""Notebook 5: progress."""

from collections.abc import Callable
from random import Random

from compare.lessons.checks.kinds import Exercise, Kind, called, function, is_text, number
from compare.lessons.checks.trials import every_seed
from compare.lessons.runs import figures, run
from protocols.offsets import OffsetSet
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

_LEAST = 80
"""Records that are handled twice."""


def _day(seed: int, crash_at: str) -> Scenario:
    return scenario(
        name="crash",
        brokers=["broker-a", "broker-b"],
        topics={"orders": 6},
        group={"name": "billing", "members": {"c1": ["orders"], "c2": ["orders"], "c3": ["orders"]}},
        load={"produce": "10/s"},
        run={"for": "3min", "seed": seed},
        events=[{"at": crash_at, "crash": "c2"}],
    )


def _moment(answer: str) -> str | None:
    if not 60_000 <= _day(1, answer).events[0].at <= 70_000:
        return "Between 60 and 70 seconds, please."

    def hint(seed: int) -> str | None:
        found = figures(run(_day(seed, answer), "kafka:range"))["redelivered"]
        if found < _LEAST:
            return f"{found} records are handled twice. Commits come each 5 s: is that just after one, or just before?"
        return None

    return every_seed(hint)


def _committable(answer: Callable[[int, set[int]], int]) -> str | None:
    rng = Random(5)
    drawn = ((first, {first + rng.randrange(8) for _ in range(size)}) for first in (0, 7, 100) for size in range(12))
    for first, finished in ((100, {101, 102}), (7, {9, 7, 8, 12}), *drawn):
        right = OffsetSet((each, each + 1) for each in sorted(finished)).next_missing(first)
        found = called(answer, first, finished, gives=number("the offset that may be committed"))
        if found != right:
            harm = "skip a record" if found > right else "repeat one needlessly"
            return f"With {first} the first and {sorted(finished)} done, {found} makes a successor {harm}."
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
