"""Many runs for one answer, so that none is right by luck: seeds, and the moments at which something happens."""

from collections.abc import Callable, Mapping, Sequence
from math import floor

from compare.lessons.runs import run
from protocols.engine.nodes import Time
from protocols.scenario.model import Scenario

SEEDS = range(1, 9)
"""Of runs in which only latencies and ids differ."""

Day = Callable[..., Scenario]
"""From a seed, then events, to the scenario of an exercise."""


def moments(
    day: Day, system: str, settings: Mapping[str, object] | None, member: str, seed: int, since: Time, until: Time
) -> list[Time]:
    """When to stop a member, in whole milliseconds from ``since`` to ``until``: just after each of its messages, when
    the coordinator will wait for the longest time. The messages are those of a run in which the member lives on.
    """
    trace = run(day(seed), system, settings, tracing=True).timeline.trace
    assert trace is not None
    sent = (message.at for message in trace.messages if message.sender == member and since <= message.at <= until)
    return sorted({floor(at) + 1.0 for at in sent})


def written(at: Time) -> str:
    """A moment as scenarios have it."""
    return f"{at:.0f}ms"


def case(seed: int, what: str, at: Time) -> str:
    """``seed 12, crash at 61.40 s``: how a hint names the run that it is about."""
    return f"seed {seed}, {what} at {at / 1000:.2f} s"


def every_seed(hint: Callable[[int], str | None], seeds: Sequence[int] = SEEDS) -> str | None:
    """The first hint that one of the seeds gives, with the seed; None where the answer is right under all."""
    for seed in seeds:
        said = hint(seed)
        if said is not None:
            return f"With seed {seed}: {said}"
    return None
