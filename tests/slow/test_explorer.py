"""What docs/explorer.md says was found on the scenarios in examples/explore."""

from pathlib import Path

import pytest

from compare.exploring.answers import Token, answered, fingerprint, read_token, retold, written
from compare.exploring.properties import (
    ACKNOWLEDGED,
    COMMITS,
    EVERY_QUEUE,
    FAIR_SHARE,
    PER_GENERATION,
    SETTLES,
    SINGLE_OWNER,
    subject_of,
)
from compare.exploring.search import Limits
from compare.running.systems import read
from compare.running.variants import variants_of
from protocols.engine.exploration import Bounds

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[2] / "examples" / "explore"

FAIR = {FAIR_SHARE: None, EVERY_QUEUE: None, SETTLES: None}

SHOWN = [
    ("crash", "kafka:range", {PER_GENERATION: None, COMMITS: None}, Bounds()),
    ("crash", "kafka:range", {SINGLE_OWNER: 14}, Bounds()),
    ("commits", "kafka:range", {PER_GENERATION: None, COMMITS: None}, Bounds()),
    ("crash", "kafka:cooperative-sticky", {PER_GENERATION: None, COMMITS: None}, Bounds()),
    ("crash", "kafka:uniform", {ACKNOWLEDGED: None}, Bounds()),
    ("fourth-joins", "kafka:range", {PER_GENERATION: None, COMMITS: None}, Bounds(1)),
    ("coordinator-killed", "kafka:range", {PER_GENERATION: None, COMMITS: None}, Bounds(1, 2)),
    ("coordinator-killed", "kafka:cooperative-sticky", {PER_GENERATION: None, COMMITS: None}, Bounds(1, 2)),
    ("coordinator-killed", "kafka:uniform", {ACKNOWLEDGED: None}, Bounds(1, 2)),
    ("crash-and-join", "kafka:uniform", {ACKNOWLEDGED: None}, Bounds(1)),
    # Since 4.3 a new target waits for the assignment interval, whose timer is a firing of the coordinator.
    ("crash-and-join", "kafka:uniform", {SINGLE_OWNER: None}, Bounds()),
    ("crash-and-join", "kafka:uniform", {SINGLE_OWNER: 7}, Bounds(2, 2)),
    ("crash-and-join", "kafka:range", {SETTLES: None, EVERY_QUEUE: None}, Bounds(0)),
    ("zookeeper-join", "kafka-zookeeper:range", {SINGLE_OWNER: None, SETTLES: None, EVERY_QUEUE: None}, Bounds(2, 0)),
    ("zookeeper-join", "kafka-zookeeper:range", {SINGLE_OWNER: 26}, Bounds(1, 1)),
    ("rocketmq-join", "rocketmq:AVG", {SINGLE_OWNER: 14}, Bounds()),
    ("rocketmq-join", "orderly", {SINGLE_OWNER: None}, Bounds(2, 0)),
    ("rocketmq-mixed", "rocketmq:AVG", {EVERY_QUEUE: 6}, Bounds(1, 0)),
    ("upgrade", "kafka:range", FAIR, Bounds(1, 0)),
    ("upgrade", "kafka:cooperative-sticky", FAIR, Bounds(1, 0)),
    ("upgrade", "kafka:range+static", {FAIR_SHARE: 15, EVERY_QUEUE: 30, SETTLES: None}, Bounds(1, 0)),
    ("upgrade-joining", "kafka:range", {FAIR_SHARE: 13, EVERY_QUEUE: 20, SETTLES: None}, Bounds(1, 1)),
    ("upgrade-interval", "kafka:range", FAIR, Bounds(1, 0)),
    ("upgrade-coordinator-killed", "kafka:range", FAIR, Bounds(0, 0)),
    ("upgrade-three", "kafka:range", FAIR, Bounds(0, 0)),
    ("downgrade", "kafka:uniform", FAIR, Bounds(1, 0)),
    ("downgrade", "kafka:uniform+static", {FAIR_SHARE: 14, EVERY_QUEUE: None, SETTLES: None}, Bounds(1, 0)),
    ("rocketmq-old-offset", "rocketmq:AVG", {COMMITS: 20}, Bounds(2, 0)),
]


@pytest.mark.parametrize(("name", "system", "expected", "bounds"), SHOWN)
def test_what_was_found(name: str, system: str, expected: dict[str, int | None], bounds: Bounds) -> None:
    scenario = read(SCENARIOS / f"{name}.yaml")
    (variant,) = variants_of(scenario, [system])
    subject = subject_of(variant, tuple(expected), bounds)
    found = answered(subject, tuple(expected), Limits(), lambda depth, states: None)
    assert found.complete
    told = {each: len(found.stories[each][0]) if each in found.stories else None for each in expected}
    assert told == expected
    for each, (actions, _) in found.stories.items():
        token = Token(variant.label, each, bounds, tuple(actions), fingerprint(scenario))
        assert read_token(written(token)) == token
        again = subject_of(variant, (each,), bounds)
        assert each in retold(again, token).stories
