"""Notebook 5: progress."""

from typing import Any

from checks import Open
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
    if answer(0, set()) is ...:
        raise Open
    cases = ((100, ()), (100, (100,)), (100, (101, 102)), (100, (100, 101, 103)), (0, (0, 1, 2, 3)), (7, (9, 7, 8, 12)))
    for first, finished in cases:
        right = OffsetSet((each, each + 1) for each in finished).next_missing(first)
        if answer(first, set(finished)) != right:
            return f"With {first} the first and {sorted(finished)} done a successor would skip a record, or repeat one."
    return None


EXERCISES = {
    "5.1": (_moment, "Just before the next commit nearly a whole interval of work is unknown to everybody else."),
    "5.2": (_committable, "Everything below that offset is done, and only that matters."),
}
"""Number to the check, which returns a hint or None, and what to say where it is right."""
