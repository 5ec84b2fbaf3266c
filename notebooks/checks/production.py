"""Notebook 7: a day in production."""

from typing import Any

from checks.kinds import EVENTS, Exercise, whole
from protocols.scenario.events import Crash, Restart
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario
from runs import figures, run

_TOPICS = {"orders": 6, "payments": 2, "refunds": 2}
_LONGEST_S = 30
_DOWN_S = 20
_MANY, _FEW = 80, 10
_MEMBERS = ("c1", "c2", "c3", "c4")


def _day(*events: Any) -> Scenario:
    return scenario(
        name="ten minutes",
        brokers=["broker-a", "broker-b"],
        topics=_TOPICS,
        group={"name": "billing", "members": {name: {"subscribe": list(_TOPICS)} for name in _MEMBERS}},
        run={"for": "10min", "seed": 1},
        events=list(events),
    )


def _session(answer: Any) -> str | None:
    system, settings = "kafka:cooperative-sticky+static", {"session.timeout.ms": int(answer)}
    crashed = run(_day({"at": "60s", "crash": "c2"}), system, settings)
    if len(crashed.timeline.owned) < 2:
        return (
            "With this value no member can join, because brokers allow no session below group.min.session.timeout.ms."
        )
    longest = figures(crashed)["longest_gap_s"]
    if longest > _LONGEST_S:
        return f"After a crash a queue is without an owner for {longest:.1f} s."
    downs = [
        event
        for at, name in enumerate(_MEMBERS, 1)
        for event in ({"at": f"{60 * at}s", "leave": name}, {"at": f"{60 * at + _DOWN_S}s", "join": name})
    ]
    made = figures(run(_day(*downs), system, settings))["rebalances"]
    if made > 1:
        return f"The deployment makes {made - 1} rebalances: a session has to outlast what it is to bridge."
    return None


def _events(answer: Any) -> str | None:
    day = _day(*answer)
    if any(isinstance(event, Crash | Restart) for event in day.events):
        return "Without any crash or restart, please."
    systems = ("kafka:cooperative-sticky", "rocketmq:AVG")
    kafka, rocketmq = (figures(run(day, system))["unowned_queue_s"] for system in systems)
    if kafka <= _MANY:
        return f"Kafka has {kafka:.1f} queue-seconds without an owner. Which members stop without a leave request?"
    if rocketmq >= _FEW:
        return f"RocketMQ has {rocketmq:.1f} queue-seconds without an owner."
    return None


EXERCISES = {
    "7.1": Exercise(
        whole("a whole number of milliseconds"),
        _session,
        "The session timeout must be longer than the longest planned downtime and shorter than the longest"
        " acceptable wait.",
    ),
    "7.2": Exercise(EVENTS, _events, "RocketMQ has no static members: the brokers notice a closed member at once."),
}
"""Number to the exercise."""
