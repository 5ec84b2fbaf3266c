"""Notebook 2: Kafka's coordinator."""

from typing import Any

from checks.kinds import EVENTS, Exercise, whole
from protocols.scenario.reading import scenario
from runs import figures, run

_MEMBERS = {"c1": ["orders"], "c2": ["orders"]}


def _generations(answer: Any) -> str | None:
    day = scenario(
        name="four generations",
        topics={"orders": 6},
        group={"name": "billing", "members": _MEMBERS},
        run={"for": "2min", "seed": 1},
        events=list(answer),
    )
    found = figures(run(day, "kafka:range"))["rebalances"]
    if found < 4:
        return f"That makes {found}. What else begins a rebalance? Or does one begin too late to end in two minutes?"
    if found > 4:
        return f"That makes {found}. Which of your events need two, and which might share one?"
    return None


def _session(answer: Any) -> str | None:
    day = scenario(
        name="crash",
        topics={"orders": 6},
        group={"name": "billing", "members": {**_MEMBERS, "c3": ["orders"]}},
        run={"for": "3min", "seed": 1},
        events=[{"at": "60s", "crash": "c2"}],
    )
    lived = run(day, "kafka:range", {"session.timeout.ms": int(answer)})
    if len(lived.timeline.owned) < 2:
        return "With this value no member can join: see group.min.session.timeout.ms in Kafka's settings."
    longest = figures(lived)["longest_gap_s"]
    if longest > 12:
        return f"A queue waits for {longest:.1f} s: what else has to happen after the session has run out?"
    if answer < 8000:
        return (
            f"The condition holds ({longest:.1f} s), but a larger session timeout than {answer / 1000:g} s is possible."
        )
    return None


EXERCISES = {
    "2.1": Exercise(EVENTS, _generations, "Joining, leaving and a session that runs out each make one."),
    "2.2": Exercise(
        whole("a whole number of milliseconds"),
        _session,
        "The wait is the session's rest and, at the most, one heartbeat interval of the others.",
    ),
}
"""Number to the exercise."""
