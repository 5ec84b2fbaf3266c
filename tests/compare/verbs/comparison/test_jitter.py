"""``--jitter``: start times and event times that depend on the seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from compare.running.phases import at_other_times, phases_of
from compare.running.runs import RunOrder, run_all
from compare.running.systems import read, system_of
from compare.running.variants import jittered, variants_of
from tests.compare.compared import made
from tests.compare.showing import equipoise

EXAMPLES = Path(__file__).parents[4] / "examples" / "scenarios"
KILLED = str(EXAMPLES / "killed-orderly-owner.yaml")
SYSTEMS = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")

SCENARIO = """
name: one crashes, one joins
brokers: [broker-a, broker-b]
topics: {orders: 4}
group: {name: g, members: {c1..c3: [orders]}}
load: {produce: 10/s}
run: {for: 4min, seed: 5}
events:
  - {at: 0s, produce: {orders: 10}}
  - {at: 60s, crash: c2}
  - {at: 120s, join: c4, subscribe: [orders]}
  - {at: 120s, produce: {orders: 100}}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    written = tmp_path / "s.yaml"
    written.write_text(SCENARIO, encoding="utf-8")
    return str(written)


def records(path: str, *options: str, systems: tuple[str, ...] = SYSTEMS) -> dict[str, Any]:
    named = [word for system in systems for word in ("--system", system)]
    done = equipoise("compare", path, *named, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_with_several_seeds_times_vary_and_with_one_they_do_not(path: str) -> None:
    alone, several = records(path), records(path, "--seeds", "3")
    assert [each["jitter"] for each in alone["variants"]] == [False] * 3
    assert [each["jitter"] for each in several["variants"]] == [True] * 9
    assert [after["at_s"] for after in alone["variants"][0]["after"]] == [0, 60, 120]
    for number in range(3):
        of_variant = several["variants"][number * 3 : number * 3 + 3]
        times = [[after["at_s"] for after in each["after"]] for each in of_variant]
        # Every system lives through the same times.
        assert times == [[after["at_s"] for after in each["after"]] for each in several["variants"][:3]]
        assert all(len(each) == 3 and each[0] == 0 and 60 <= each[1] <= 90 <= 120 <= each[2] <= 150 for each in times)
        assert len({each[1] for each in times}) == 3
        assert all(each["after"][2]["kinds"] == ["Join", "Produce"] for each in of_variant)
        begun = [min(held["from_s"] for held in each["timeline"]) for each in of_variant]
        assert len({round(each, 1) for each in begun}) == 3


@pytest.mark.parametrize("options", [("--seed", "5", "--seed", "6"), ("--seeds", "2")])
def test_off_is_the_run_at_the_written_times(path: str, options: tuple[str, ...]) -> None:
    both = records(path, *options, "--jitter", "off")
    assert both["variants"][::2] == records(path)["variants"]
    assert both["variants"][1::2] == records(path, "--seed", "6")["variants"]


def test_a_seed_alone_gives_the_run_that_it_gave_among_many(path: str) -> None:
    among, alone = records(path, "--seeds", "4"), records(path, "--jitter", "on", "--seed", "7")
    assert [each["seed"] for each in alone["variants"]] == [7] * 3
    assert json.dumps(among["variants"][2::4]) == json.dumps(alone["variants"])


def test_processes_change_nothing() -> None:
    variants = variants_of(made(), seeds=range(10))
    orders = [RunOrder(each, whole=True, jitter=True) for each in variants]
    alone, together = (list(run_all(orders, lambda run: None, processes)) for processes in (1, 3))
    assert alone == together
    assert [(run.variant.label, run.variant.seed) for run in alone] == [(each.label, each.seed) for each in variants]
    assert len({json.dumps(run.record and run.record["timeline"]) for run in alone}) == len(orders)


def test_phases_of_other_times_are_those_of_the_shifted_scenario(subtests: pytest.Subtests) -> None:
    for example in sorted(EXAMPLES.glob("*.yaml")):
        with subtests.test(example=example):
            written = read(example)
            for variant in variants_of(written, (), (1, 2))[:2]:
                numbering = system_of(variant.part.system).numbering
                lived = jittered(variant).scenario
                assert at_other_times(phases_of(variant.scenario, numbering), lived) == phases_of(lived, numbering)


def test_the_gap_after_a_crash_varies_with_the_phase_of_the_locks() -> None:
    """A lock on a queue is renewed every 20 s and expires 60 s later: the wait is anything between 40 and 60 s."""
    gaps = [each["longest_gap_s"] for each in records(KILLED, "--seeds", "12", systems=("orderly",))["variants"]]
    assert max(gaps) - min(gaps) > 8
    assert all(38 < gap < 62 for gap in gaps)
    fixed = records(KILLED, "--seeds", "12", "--jitter", "off", systems=("orderly",))["variants"]
    assert len({round(each["longest_gap_s"]) for each in fixed}) < len({round(gap) for gap in gaps})


def test_a_baseline_of_other_times_is_refused(path: str, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    systems = ("--system", "kafka:range")
    old.write_text(equipoise("compare", path, *systems, "--format", "json").stdout, encoding="utf-8")
    refused = equipoise("compare", path, *systems, "--seeds", "2", "--baseline", str(old))
    assert refused.returncode == 2
    assert "was made with jitter off, expected --jitter off" in refused.stderr
    assert (
        equipoise("compare", path, *systems, "--seeds", "2", "--jitter", "off", "--baseline", str(old)).returncode == 0
    )
