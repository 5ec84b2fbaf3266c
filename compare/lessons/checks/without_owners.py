"""Exercises of notebook 10: records that are given out one by one."""

from collections.abc import Mapping

from compare.lessons.checks.kinds import Exercise, whole
from compare.lessons.runs import figures, run
from compare.running.checks import is_behind
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

_SEEDS = (1, 2)
_SHARE, _LOCK = "kafka:share", "group.share.record.lock.duration.ms"
_WITHIN_MS = 5_000


def _crowd(seed: int, members: int, *events: Mapping[str, object], **load: str) -> Scenario:
    handle, produce, lasts = load["handle"], load["produce"], load["lasts"]
    return scenario(
        name="crowd",
        brokers=["broker-a", "broker-b"],
        topics={"orders": {"queues": {"broker-a": 2, "broker-b": 2}}},
        group={
            "name": "shop",
            "members": {f"c{number}": {"subscribe": ["orders"], "handle": handle} for number in range(1, members + 1)},
        },
        load={"produce": produce},
        run={"for": lasts, "seed": seed},
        events=list(events),
    )


def _given_again(seed: int, lock: int) -> int:
    slow = {"at": "60s", "slow": {"c2": "40s"}, "for": "2min"}
    day = _crowd(seed, 8, slow, handle="20ms", produce="10/s", lasts="5min")
    delivery = figures(run(day, _SHARE, {_LOCK: lock}))["shared_delivery"]
    return 0 if delivery is None else delivery["redeliveries"]


def _lock(answer: int) -> str | None:
    for seed in _SEEDS:
        again = _given_again(seed, answer)
        if again:
            return f"seed {seed}: records are given again {again} times. How long does c2 work on one?"
    if not any(_given_again(seed, answer - _WITHIN_MS) for seed in _SEEDS):
        return f"The condition holds, but also with {_WITHIN_MS / 1000:g} s less."
    return None


def _is_late(seed: int, members: int) -> bool:
    day = _crowd(seed, members, handle="50ms", produce="30/s", lasts="1min")
    work = figures(run(day, _SHARE))["harm"]["work"]
    return work is None or is_behind(work)


def _members(answer: int) -> str | None:
    for seed in _SEEDS:
        if _is_late(seed, answer):
            return f"seed {seed}: more than one record in a hundred waits at the end."
    if not any(_is_late(seed, answer - 1) for seed in _SEEDS):
        return "The condition holds, but also with one member less."
    return None


EXERCISES = {
    "10.1": Exercise(
        whole("a whole number of milliseconds, 15,000 to 60,000", 15_000, 60_000),
        _lock,
        "A record must stay locked for longer than a member works on it, and on all that it took with it.",
    ),
    "10.2": Exercise(
        whole("a number of members, 1 to 30", 1, 30),
        _members,
        "Six would do if they never waited for each other; permissions are dealt by partition.",
    ),
}
