"""Many seeds: the spread of the figures, runs over processes, what the command prints of them."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.figures.metrics import paths
from compare.running.spread import figure, spread
from tests.compare.compared import made, ran
from tests.compare.showing import equipoise

SCENARIO = """
name: three members, one leaves
topics: {orders: 4}
group: {name: g, members: {c1: [orders], c2: [orders], c3: [orders]}}
load: {produce: 10/s}
run: {for: 40s, seed: 5}
systems: [kafka:range, kafka:cooperative-sticky]
events: [{at: 20s, leave: c2}]
expect: {longest_gap: 1ms}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = tmp_path / "s.yaml"
    made.write_text(SCENARIO, encoding="utf-8")
    return str(made)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_the_median_is_the_median_and_nine_of_ten_lie_between(values: list[float]) -> None:
    found = spread([{"x": value, "y": None} for value in values])
    assert found["x"]["median"] == pytest.approx(statistics.median(values))
    assert min(values) <= found["x"]["p5"] <= found["x"]["median"] <= found["x"]["p95"] <= max(values)
    assert found["x"]["known"] == len(values)
    assert found["y"] == {"median": None, "p5": None, "p95": None, "known": 0}


def test_every_figure_is_found_in_a_record() -> None:
    record = ran(made(), systems=["kafka:range"])[1]["variants"][0]
    for path in paths("spread"):
        missing = path in ("capacity_per_s", "out_of_order.key") or path.startswith("shared_delivery.")
        assert (figure(record, path) is None) == missing, path
    assert figure(record, "messages") == sum(record["messages"].values())
    pulling = {**record, "messages": {**record["messages"], "PullMessage": 5, "PullAnswer": 5}}
    assert figure(pulling, "messages") == figure(record, "messages")


def test_five_other_seeds_stand_beside_the_run_as_written(path: str) -> None:
    document = json.loads(equipoise("compare", path, "--format", "json").stdout)
    labels = ["kafka:range", "kafka:cooperative-sticky"]
    assert [(each["label"], each["seed"], each["jitter"]) for each in document["variants"]] == [
        (label, 5, False) for label in labels
    ]
    assert {label: (seeds["runs"], seeds["beside"]) for label, seeds in document["seeds"].items()} == dict.fromkeys(
        labels, (5, True)
    )
    assert "one_run" not in document
    varied = json.loads(equipoise("compare", path, "--seed", "6", "--seeds", "5", "--format", "json").stdout)
    assert {label: seeds["figures"] for label, seeds in document["seeds"].items()} == {
        label: seeds["figures"] for label, seeds in varied["seeds"].items()
    }
    told = equipoise("compare", path).stdout
    assert "Figures are medians over 5 seeds" in told
    assert "sentences about one variant, describe the run as written." in told


def test_one_run_is_said_to_be_one(path: str) -> None:
    document = json.loads(equipoise("compare", path, "--seeds", "1", "--format", "json").stdout)
    assert document["one_run"]
    assert "seeds" not in document
    assert "One run of each variant" in equipoise("compare", path, "--seeds", "1").stdout


def test_json_has_every_run_and_the_spread_of_each_variant(path: str) -> None:
    done = equipoise("compare", path, "--seeds", "3", "--format", "json")
    document = json.loads(done.stdout)
    assert [(each["label"], each["seed"]) for each in document["variants"]] == [
        (label, seed) for label in ("kafka:range", "kafka:cooperative-sticky") for seed in (5, 6, 7)
    ]
    of_range = [each["unowned_queue_s"] for each in document["variants"][:3]]
    over: dict[str, Any] = document["seeds"]["kafka:range"]
    assert over["runs"] == 3
    assert over["figures"]["unowned_queue_s"]["median"] == sorted(of_range)[1]
    assert over["figures"]["after.1.fairness.jain"]["known"] == 3
    # What is expected is expected of every run.
    assert done.returncode == 1
    assert done.stderr.count("failed: ") == 6


def test_the_table_has_a_row_per_variant_with_the_median_and_the_percentiles(path: str) -> None:
    done = equipoise("compare", path, "--seeds", "3", "--seed", "9", "--format", "markdown")
    (row, *_) = [line for line in done.stdout.splitlines() if line.startswith("| kafka:range")]
    assert "Figures are medians over 3 seeds" in done.stdout
    assert "(" in row
    assert equipoise("compare", path, "--seeds", "3", "--seed", "9", "--format", "markdown").stdout == done.stdout


def test_seeds_are_counted_from_one_on(path: str) -> None:
    done = equipoise("compare", path, "--seeds", "3", "--seed", "1", "--seed", "2")
    assert done.returncode == 2
    assert "--seeds counts up from one seed" in done.stderr
    assert done.stdout == ""


def test_many_runs_tell_of_their_progress(path: str) -> None:
    done = equipoise("compare", path, "--seeds", "10", "--format", "json")
    assert "10 of 20 runs" in done.stderr
    assert "20 of 20 runs" in done.stderr
