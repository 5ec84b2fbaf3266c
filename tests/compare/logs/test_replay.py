"""A recorded night as a scenario: the simulation rebalances as often as the real group did, and less with a remedy."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.cli import cli
from compare.scenarios.reading import read
from tests.compare.logs.scoring import logs_of, truth_of


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def rebalances(name: str, folder: Path) -> dict[str, int]:
    """Number of rebalances by variant."""
    path = folder / "night.yaml"
    sources = [str(each) for each in logs_of(name, "both")]
    told = invoke("logs", *sources, "--group", truth_of(name)["group"], "--scenario", str(path))
    assert told.exit_code == 0, told.output
    compared = json.loads(invoke("compare", str(path), "--format", "json").stdout)
    return {each["label"]: each["rebalances"] for each in compared["variants"]}


@pytest.mark.parametrize(
    ("name", "slack"),
    [
        ("rebalance-storm-41", 0),
        ("storm-28", 0),
        ("rolling-bounce-41", 0),
        ("crash-39", 0),
        ("partitions-added-39", 0),
        ("mixed-night-41", 2),
        ("mixed-night-39", 2),
    ],
)
def test_the_simulation_rebalances_as_often_as_the_real_group(name: str, slack: int, tmp_path: Path) -> None:
    assert abs(rebalances(name, tmp_path)["as it was"] - len(truth_of(name)["rebalances"])) <= slack


def test_a_storm_ends_with_a_longer_interval(tmp_path: Path) -> None:
    """11 rebalances: one start, five batches of 9 s where 6 s are allowed, five times back again."""
    found = rebalances("rebalance-storm-41", tmp_path)
    assert found == {"as it was": 11, "a longer interval": 1, "static members": 1}


def test_static_members_survive_a_rolling_restart(tmp_path: Path) -> None:
    found = rebalances("rolling-bounce-41", tmp_path)
    assert (found["a longer interval"], found["static members"]) == (7, 1)


def test_what_is_written_is_a_scenario_with_the_partitions_of_the_logs(tmp_path: Path) -> None:
    rebalances("rebalance-storm-41", tmp_path)
    written = read(tmp_path / "night.yaml")
    assert set(written.topics) == {"billing.credits", "billing.invoices"}
    assert set(written.groups["billing-worker"].members) == {"billing-1", "billing-2", "billing-3"}


@pytest.mark.parametrize(
    ("name", "group", "line"),
    [
        ("rmq-crash", "stock_group", "is a group of RocketMQ"),
        ("kip848-41", "tracking-v2", "uses the consumer protocol"),
    ],
)
def test_groups_that_cannot_be_replayed(name: str, group: str, line: str, tmp_path: Path) -> None:
    sources = [str(each) for each in logs_of(name, "both")]
    told = invoke("logs", *sources, "--group", group, "--scenario", str(tmp_path / "x.yaml"))
    assert line in str(told.exception)
    assert not (tmp_path / "x.yaml").exists()


def test_one_group_has_to_be_chosen(tmp_path: Path) -> None:
    sources = [str(each) for each in logs_of("bystander-storm-41", "both")]
    told = invoke("logs", *sources, "--scenario", str(tmp_path / "x.yaml"))
    assert "expected one of them with --group" in str(told.exception)
