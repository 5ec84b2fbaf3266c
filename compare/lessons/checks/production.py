"""Notebook 7: a day in production."""

from collections.abc import Iterable, Mapping
from functools import partial

from compare.lessons.checks.kinds import EVENTS, Exercise, whole
from compare.lessons.checks.trials import SEEDS, case, every_seed, moments, written
from compare.lessons.runs import figures, run
from protocols.engine.nodes import Time
from protocols.scenario.events import Crash, Restart
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

_TOPICS = {"orders": 6, "payments": 2, "refunds": 2}
_LONGEST_S = 30
_DOWN_S = 20
_MANY, _FEW = 80, 10
_MEMBERS = ("c1", "c2", "c3", "c4")
_STATIC = "kafka:cooperative-sticky+static"
_SINCE, _UNTIL = 60_000.0, 75_000.0
"""When something begins, in ms: heartbeats each 3 s and commits each 5 s have one pattern in 15 s."""
_DEPLOYMENTS = 2
"""Of each seed."""
_BEFORE = 2.0
"""Milliseconds from a moment just after a message to one just before it, when the session is oldest."""


def _day(seed: int, *events: Mapping[str, object], lasts: str = "10min") -> Scenario:
    return scenario(
        name="ten minutes",
        brokers=["broker-a", "broker-b"],
        topics=_TOPICS,
        group={"name": "billing", "members": {name: {"subscribe": list(_TOPICS)} for name in _MEMBERS}},
        run={"for": lasts, "seed": seed},
        events=list(events),
    )


def _deployment(seed: int, begin: Time) -> Scenario:
    """Each member in turn is down, the next one a minute later."""
    downs = ((name, begin + 60_000 * at) for at, name in enumerate(_MEMBERS))
    events = (
        event
        for name, at in downs
        for event in ({"at": written(at), "leave": name}, {"at": written(at + _DOWN_S * 1000), "join": name})
    )
    return _day(seed, *events, lasts="5min")


def _session(answer: int) -> str | None:
    settings = {"session.timeout.ms": int(answer)}
    short = partial(_day, lasts="2min")
    if len(run(short(1), _STATIC, settings).timeline.owned) < 2:
        return (
            "With this value no member can join, because brokers allow no session below group.min.session.timeout.ms."
        )
    for seed in SEEDS:
        stops = moments(short, _STATIC, settings, "c2", seed, _SINCE, _UNTIL)
        for at in stops:
            crashed = run(short(seed, {"at": written(at), "crash": "c2"}), _STATIC, settings)
            longest = figures(crashed)["longest_gap_s"] or 0.0
            if longest > _LONGEST_S:
                return f"{case(seed, 'crash', at)}: a queue is without an owner for {longest:.3f} s."
        for at in (after - _BEFORE for after in stops[:: len(stops) // _DEPLOYMENTS]):
            made = figures(run(_deployment(seed, at), _STATIC, settings))["rebalances"]
            if made > 1:
                return (
                    f"{case(seed, 'deployment', at)}: it makes {made - 1} rebalances."
                    " A session has to outlast what it is to bridge."
                )
    return None


def _events(answer: Iterable[Mapping[str, object]]) -> str | None:
    if any(isinstance(event, Crash | Restart) for event in _day(1, *answer).events):
        return "Without any crash or restart, please."

    def hint(seed: int) -> str | None:
        systems = ("kafka:cooperative-sticky", "rocketmq:AVG")
        kafka, rocketmq = (figures(run(_day(seed, *answer), system))["unowned_queue_s"] or 0.0 for system in systems)
        if kafka <= _MANY:
            return f"Kafka has {kafka:.1f} queue-seconds without an owner. Which members stop without a leave request?"
        if rocketmq >= _FEW:
            return f"RocketMQ has {rocketmq:.1f} queue-seconds without an owner."
        return None

    return every_seed(hint)


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
