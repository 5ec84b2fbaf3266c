"""Versions of both systems: what a scenario may name, and what it changes in a run."""

from typing import Any

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import read_text, version_notes
from compare.running.variants import variants_of
from kafka_coordinator.coordinator.consumer_groups.states import ASSIGNMENT_EPOCH, GROUP_EPOCH
from kafka_coordinator.versions import VERSIONS as KAFKA
from protocols.errors import UserError
from protocols.facts import Epoch
from protocols.versions import Versions
from rocketmq_selfbalance.versions import VERSIONS as ROCKETMQ

SCENARIO = """
name: two come at once
versions: {{kafka: {version}}}
topics: {{t: 4}}
group: {{name: g, members: {{a: {{subscribe: [t]}}}}}}
run: {{for: 30s}}
systems: ["kafka:uniform"]
events:
  - {{at: 10s, join: b, subscribe: [t]}}
  - {{at: 10.3s, join: c, subscribe: [t]}}
"""


@pytest.mark.parametrize("versions", [KAFKA, ROCKETMQ])
def test_a_rule_holds_since_its_version(versions: Versions[Any]) -> None:
    for rule in versions.rules:
        assert {name: getattr(version, rule.name) for name, version in versions.items()} == {
            name: name >= rule.since for name in versions
        }, rule
    assert versions.newest.name == max(versions)


@pytest.mark.parametrize(("given", "name"), [("4.4", "4.4"), (4.4, "4.4"), ("4.1.0", "4.1"), ("4.2.2", "4.2")])
def test_a_version_is_named_by_text_or_number(given: object, name: str) -> None:
    assert KAFKA.named(given, "here").name == name


@pytest.mark.parametrize("given", ["4", "5.0", "4.4x", "", 4, None, True, "4.4.x"])
def test_what_is_no_version_is_refused_with_those_there_are(given: object) -> None:
    with pytest.raises(UserError, match=r"here: .*expected a version of Kafka: 4.1, 4.2, 4.3, 4.4"):
        KAFKA.named(given, "here")


@pytest.mark.parametrize(("version", "first", "waits"), [("4.1", 1, False), ("4.3", 2, True), ("4.4", 2, True)])
def test_the_second_of_two_that_come_at_once_waits_for_the_interval(version: str, first: int, waits: bool) -> None:
    scenario = read_text(SCENARIO.format(version=version))
    (variant,) = variants_of(scenario)
    reached: dict[str, dict[int, float]] = {GROUP_EPOCH: {}, ASSIGNMENT_EPOCH: {}}
    for observed in run_variant(variant).timeline.facts:
        if isinstance(observed.fact, Epoch) and observed.fact.name in reached:
            reached[observed.fact.name][observed.fact.value] = observed.now
    group, target = reached.values()
    assert [group[epoch] == target[epoch] for epoch in range(first, first + 3)] == [True, True, not waits]
    if waits:
        assert target[first + 2] >= target[first + 1] + 1000
    assert bool(version_notes(scenario.versions)) == (version == "4.3")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("kafka: 5.0", "unknown version '5.0', expected one of 4.1"),
        ("kafka: 4", "unknown version '4', expected one of 4.1"),
        ("rocketmq: 5.2", "unknown version '5.2', expected one of 4.5, 5.3, 5.4, 5.5"),
        ("kafka-zookeeper: 0.8", "has no versions to choose"),
    ],
)
def test_a_scenario_with_another_version_is_refused(line: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        read_text(SCENARIO.format(version="4.4").replace("kafka: 4.4", line))
