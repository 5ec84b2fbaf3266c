"""How likely a violation is: counted in runs that are known to violate a property, or not to."""

from dataclasses import replace

import pytest

from compare.exploring.likelihood import interval, likelihoods
from compare.exploring.properties import COMMITS, EVERY_QUEUE, PER_GENERATION, SETTLES, SINGLE_OWNER, subject_of
from compare.running.run_variant import run_variant
from compare.running.variants import Variant, jittered, variants_of
from protocols.engine.exploration import Bounds
from tests.compare.compared import made
from tests.rows import rows

PROPERTIES = (SINGLE_OWNER, PER_GENERATION, COMMITS, SETTLES, EVERY_QUEUE)


def variant(system: str, **more: object) -> Variant:
    group = {"name": "g", "members": {"c1": {"subscribe": ["X"]}, "c2": {"subscribe": ["X"]}}}
    (found,) = variants_of(
        made(**{"topics": {"X": 4}, "group": group, "load": {}, "systems": [system], **more}), like_for_like=False
    )
    return found


def violated(of: Variant, runs: int, seconds: float = 60.0) -> dict[str, int]:
    found = likelihoods(subject_of(of, PROPERTIES, Bounds(0, 0)), PROPERTIES, runs, seconds, lambda done, all: None)
    assert {each["random_runs"] for each in found.values()} <= {runs}
    return {name: each["violated"] for name, each in found.items()}


@rows(
    ("runs", "count", "low", "high"),
    [
        # Wilson's score interval by hand.
        (1000, 0, 0.0, 0.003827),
        (1000, 1000, 0.996173, 1.0),
        (10, 5, 0.236593, 0.763407),
        (1000, 30, 0.021094, 0.042503),
    ],
)
def test_the_interval_is_that_of_wilson(runs: int, count: int, low: float, high: float) -> None:
    assert interval(runs, count) == pytest.approx((low, high), abs=2e-6)


def test_what_always_happens_is_counted_in_every_run_and_what_never_does_in_none() -> None:
    mixed = variant(
        "rocketmq:AVG", events=[{"at": "30s", "join": "c3", "subscribe": ["X"], "strategy": "AVG_BY_CIRCLE"}]
    )
    assert violated(mixed, 3) == {SINGLE_OWNER: 3, PER_GENERATION: 0, COMMITS: 0, SETTLES: 3, EVERY_QUEUE: 3}
    crash = variant("kafka:range", events=[{"at": "30s", "crash": "c2"}])
    assert set(violated(crash, 3).values()) == {0}


def test_what_depends_on_chance_is_counted_as_the_timelines_of_the_same_runs_show() -> None:
    """A member hangs, and wakes up before or after its session has ended: by then another owns its queues."""
    hang = variant("kafka:range", events=[{"at": "30s", "hang": "c2", "for": "46s"}])
    assert violated(hang, 8, 0.0) == {}
    found = violated(hang, 8)
    late = hang.scenario.model_copy(
        update={
            "events": tuple(each.model_copy(update={"at": each.at + 120_000}) for each in hang.scenario.events),
            "run": hang.scenario.run.model_copy(update={"for_": 750_000.0}),
        }
    )
    doubles = [
        bool(run_variant(jittered(replace(hang, scenario=late, seed=hang.seed + 1 + at))).timeline.doubles)
        for at in range(8)
    ]
    assert found[SINGLE_OWNER] == sum(doubles)
    assert found[PER_GENERATION] == 0
