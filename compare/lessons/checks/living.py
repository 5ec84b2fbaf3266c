"""Exercises whose answers are lived through: notebooks 2 (Kafka's coordinator), 5 (progress), 7 (a day in production).

An answer is run many times, so that none is right by luck: under several seeds, and at several moments.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random

from compare.lessons.checks.kinds import EVENTS, Exercise, Kind, called, function, is_text, number, whole
from compare.lessons.checks.reconciling import first_difference
from compare.lessons.runs import SEEDS, case, every_seed, figures, moments, run, written
from protocols.engine.nodes import Time
from protocols.offsets import OffsetSet
from protocols.scenario.events import Crash, Restart
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

_MEMBERS = {"c1": ["orders"], "c2": ["orders"]}
_LONGEST_S = 12
_LEAST_MS = 8000
"""Within a second of the largest session timeout that keeps the condition."""
_SINCE, _UNTIL = 60_000.0, 75_000.0
"""When something begins, in ms: heartbeats each 3 s and commits each 5 s have one pattern in 15 s."""


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


_KAFKA = {
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


_LEAST = 80
"""Records that are handled twice."""


def _crash_day(seed: int, crash_at: str) -> Scenario:
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
    if not 60_000 <= _crash_day(1, answer).events[0].at <= 70_000:
        return "Between 60 and 70 seconds, please."

    def hint(seed: int) -> str | None:
        found = figures(run(_crash_day(seed, answer), "kafka:range"))["redelivered"]
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


_PROGRESS = {
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


_TOPICS = {"orders": 6, "payments": 2, "refunds": 2}
_LONGEST_GAP_S = 30
_DOWN_S = 20
_MANY, _FEW = 80, 10
_FOUR = ("c1", "c2", "c3", "c4")
_STATIC = "kafka:cooperative-sticky+static"
_DEPLOYMENTS = 2
"""Of each seed."""
_BEFORE = 2.0
"""Milliseconds from a moment just after a message to one just before it, when the session is oldest."""


def _ten_minutes(seed: int, *events: Mapping[str, object], lasts: str = "10min") -> Scenario:
    return scenario(
        name="ten minutes",
        brokers=["broker-a", "broker-b"],
        topics=_TOPICS,
        group={"name": "billing", "members": {name: {"subscribe": list(_TOPICS)} for name in _FOUR}},
        run={"for": lasts, "seed": seed},
        events=list(events),
    )


def _deployment(seed: int, begin: Time) -> Scenario:
    """Each member in turn is down, the next one a minute later."""
    downs = ((name, begin + 60_000 * at) for at, name in enumerate(_FOUR))
    events = (
        event
        for name, at in downs
        for event in ({"at": written(at), "leave": name}, {"at": written(at + _DOWN_S * 1000), "join": name})
    )
    return _ten_minutes(seed, *events, lasts="5min")


def _bridging(answer: int) -> str | None:
    settings = {"session.timeout.ms": int(answer)}
    short = partial(_ten_minutes, lasts="2min")
    if len(run(short(1), _STATIC, settings).timeline.owned) < 2:
        return (
            "With this value no member can join, because brokers allow no session below group.min.session.timeout.ms."
        )
    for seed in SEEDS:
        stops = moments(short, _STATIC, settings, "c2", seed, _SINCE, _UNTIL)
        for at in stops:
            crashed = run(short(seed, {"at": written(at), "crash": "c2"}), _STATIC, settings)
            longest = figures(crashed)["longest_gap_s"] or 0.0
            if longest > _LONGEST_GAP_S:
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
    if any(isinstance(event, Crash | Restart) for event in _ten_minutes(1, *answer).events):
        return "Without any crash or restart, please."

    def hint(seed: int) -> str | None:
        systems = ("kafka:cooperative-sticky", "rocketmq:AVG")
        kafka, rocketmq = (
            figures(run(_ten_minutes(seed, *answer), system))["unowned_queue_s"] or 0.0 for system in systems
        )
        if kafka <= _MANY:
            return f"Kafka has {kafka:.1f} queue-seconds without an owner. Which members stop without a leave request?"
        if rocketmq >= _FEW:
            return f"RocketMQ has {rocketmq:.1f} queue-seconds without an owner."
        return None

    return every_seed(hint)


_PRODUCTION = {
    "7.1": Exercise(
        whole("a whole number of milliseconds"),
        _bridging,
        "The session timeout must be longer than the longest planned downtime and shorter than the longest"
        " acceptable wait.",
    ),
    "7.2": Exercise(EVENTS, _events, "RocketMQ has no static members: the brokers notice a closed member at once."),
}

EXERCISES = _KAFKA | _PROGRESS | _PRODUCTION
"""Number to the exercise."""
