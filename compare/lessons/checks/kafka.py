"""Notebook 2: Kafka's coordinator."""

from collections.abc import Iterable, Mapping

from compare.lessons.checks.kinds import EVENTS, Exercise, function, whole
from compare.lessons.checks.reconciling import first_difference
from compare.lessons.checks.trials import SEEDS, case, every_seed, moments, written
from compare.lessons.runs import figures, run
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

_MEMBERS = {"c1": ["orders"], "c2": ["orders"]}
_LONGEST_S = 12
_LEAST_MS = 8000
"""Within a second of the largest session timeout that keeps the condition."""
_SINCE, _UNTIL = 60_000.0, 75_000.0
"""When c2 crashes, in ms: heartbeats each 3 s and commits each 5 s have one pattern in 15 s."""


def _generations(answer: Iterable[Mapping[str, object]]) -> str | None:
    def hint(seed: int) -> str | None:
        day = scenario(
            name="four generations",
            topics={"orders": 6},
            group={"name": "billing", "members": _MEMBERS},
            run={"for": "2min", "seed": seed},
            events=list(answer),
        )
        found = figures(run(day, "kafka:range"))["rebalances"]
        if found < 4:
            return f"That makes {found}. What else begins a rebalance? Or does one begin too late to end in time?"
        if found > 4:
            return f"That makes {found}. Which of your events need two, and which might share one?"
        return None

    return every_seed(hint)


def _day(seed: int, *events: Mapping[str, object]) -> Scenario:
    return scenario(
        name="crash",
        topics={"orders": 6},
        group={"name": "billing", "members": {**_MEMBERS, "c3": ["orders"]}},
        run={"for": "3min", "seed": seed},
        events=list(events),
    )


def _session(answer: int) -> str | None:
    settings = {"session.timeout.ms": int(answer)}
    if len(run(_day(1), "kafka:range", settings).timeline.owned) < 2:
        return "With this value no member can join: see group.min.session.timeout.ms in Kafka's settings."
    for seed in SEEDS:
        for at in moments(_day, "kafka:range", settings, "c2", seed, _SINCE, _UNTIL):
            day = _day(seed, {"at": written(at), "crash": "c2"})
            longest = figures(run(day, "kafka:range", settings))["longest_gap_s"] or 0.0
            if longest > _LONGEST_S:
                return (
                    f"{case(seed, 'crash', at)}: a queue waits for {longest:.3f} s."
                    " What else has to happen after the session has run out?"
                )
    if answer < _LEAST_MS:
        return f"The condition holds, but a larger session timeout than {answer / 1000:g} s is possible."
    return None


EXERCISES = {
    "2.1": Exercise(EVENTS, _generations, "Joining, leaving and a session that runs out each make one."),
    "2.2": Exercise(
        whole("a whole number of milliseconds"),
        _session,
        "The wait is the session's rest and, at the most, one heartbeat interval of the others.",
    ),
    "2.3": Exercise(
        function("owned", "target", "free"),
        first_difference,
        "No partition ever has two owners, although every member is told at another time: nobody waits for a barrier.",
    ),
}
"""Number to the exercise."""
