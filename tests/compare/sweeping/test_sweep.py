"""`equipoise sweep` as a whole: the same bytes in however many tasks, after a stop, after failed tasks."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark import TaskContext
from pyspark.sql import SparkSession

from compare.cli import cli
from compare.figures.spark.sweeps import for_each_part
from compare.sweeping import folder
from compare.sweeping.folder import Finished, opened, parts_of, write_part
from compare.sweeping.grid import Sweep
from compare.sweeping.reading import read_text
from compare.sweeping.running import run_parts, table_of
from tests.compare.figures.spark.spark_fixture import session

__all__ = ["session"]

GRID = """\
name: a few groups
kind: allocations
members: [1..4]
topics: [1, 3]
queues: [1..4]
subscriptions: [equal, nested]
events: [none, leave]
systems: [kafka:range, kafka:sticky, rocketmq:AVG]
"""
RUNS = """\
name: what a crash costs
kind: simulations
members: 3
topics: 1
queues: 6
events: [join, crash]
systems: [kafka:range, rocketmq:AVG]
seeds: 0..2
produce: 5/s
"""

pytestmark = pytest.mark.usefixtures("session")


def files_of(out: Path) -> Mapping[str, str]:
    """Every file of rows with the hash of its bytes."""
    found = sorted((out / "rows").rglob("*.parquet"))
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def run(sweep: Sweep, out: Path, tasks: int | None = None) -> Finished:
    parts = parts_of(sweep)
    opened(out, sweep, parts)
    return run_parts(sweep, parts, out, lambda finished: None, tasks)


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder.MOST_SIZE, "allocations", 1_500)


@pytest.mark.usefixtures("_small_parts")
def test_the_same_bytes_in_one_task_in_many_and_without_spark(tmp_path: Path) -> None:
    sweep = read_text(GRID).sweep
    parts = parts_of(sweep)
    assert len(parts) > 8
    one, many = run(sweep, tmp_path / "one", 1), run(sweep, tmp_path / "many")
    for part in parts:
        write_part(tmp_path / "plain", sweep, part, table_of(sweep, part))
    assert files_of(tmp_path / "one") == files_of(tmp_path / "many") == files_of(tmp_path / "plain")
    assert len(one.records) == len(many.records) == len(parts)


@pytest.mark.usefixtures("_small_parts")
def test_what_is_finished_is_not_computed_again_and_what_is_damaged_is(tmp_path: Path) -> None:
    sweep = read_text(GRID).sweep
    whole = run(sweep, tmp_path)
    before = files_of(tmp_path)
    names = sorted(before)
    (tmp_path / names[0]).write_bytes(b"cut")
    (tmp_path / names[1]).unlink()
    done = tmp_path / "done" / names[2].removeprefix("rows/").removesuffix(".parquet")
    done.unlink()
    kept = {name: (tmp_path / name).stat().st_mtime_ns for name in names[3:]}
    again = run(sweep, tmp_path)
    assert files_of(tmp_path) == before
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in names[3:]} == kept
    assert again.records == whole.records


def test_a_task_that_fails_is_tried_again(session: SparkSession, tmp_path: Path) -> None:
    def fails_once(part: int) -> None:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            os._exit(1)
        (tmp_path / str(part)).write_text("done")

    for_each_part(session, fails_once, [3, 5], 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "5"]


def invoked(*arguments: str) -> "tuple[int, str, str]":
    result = CliRunner().invoke(cli, ["sweep", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def written(text: str) -> str:
        path = tmp_path / "sweep.yaml"
        path.write_text(text)
        return str(path)

    return written


def test_the_summary_says_how_far_strategies_are_from_the_optimum(write: Callable[[str], str], tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "out.html"
    arguments = (write(GRID), "--out", str(out), "--fail-if", "max_over_best_max > 2.9", "--report", str(report))
    code, told, progress = invoked(*arguments, "--format", "json")
    found = json.loads(told)
    assert (found["kind"], found["variants"]) == ("allocations", ["kafka:range", "kafka:sticky", "rocketmq:AVG"])
    of = {(each["variant"], each["subscription"], each["event"]): each for each in found["summary"]}
    assert list(of) == [
        (variant, shape, event)
        for variant in found["variants"]
        for shape in ("equal", "nested")
        for event in ("none", "leave")
    ]
    # Three topics of one queue each for three members and more: range gives all three to the first one.
    assert of["kafka:range", "equal", "none"]["max_over_best_max"] == 3
    assert of["kafka:sticky", "equal", "none"]["fairest_share"] == 1
    assert of["kafka:range", "equal", "none"]["unowned_share"] == 0
    assert of["rocketmq:AVG", "nested", "none"]["unowned_share"] > 0
    assert code == 1
    assert "failed: kafka:range, equal, none: max_over_best_max is 3 (max_over_best_max > 2.9)" in progress
    page = report.read_text()
    assert page.count("<desc>") == 4
    again = invoked(*arguments, "--format", "markdown")
    assert again[0] == 1
    assert "| kafka:sticky" in again[1]
    assert report.read_text() == page


def test_the_costs_of_events_are_told_over_seeds(write: Callable[[str], str], tmp_path: Path) -> None:
    code, told, _ = invoked(write(RUNS), "--out", str(tmp_path / "out"), "--format", "json")
    assert code == 0
    of = {(each["variant"], each["event"]): each for each in json.loads(told)["summary"]}
    crash = of["kafka:range", "crash"]
    assert crash["runs"] == 3
    assert 40 < crash["event_settle_s_p5"] <= crash["event_settle_s_median"] <= crash["event_settle_s_p95"] < 55
    assert of["rocketmq:AVG", "crash"]["event_settle_s_median"] < 5


def test_a_folder_of_another_sweep_is_refused(write: Callable[[str], str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = read_text(GRID).sweep
    opened(out, sweep, parts_of(sweep))
    with pytest.raises(Exception, match="holds another sweep"):
        invoked(write(GRID.replace("1..4", "1..3")), "--out", str(out))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(Exception, match="holds something else"):
        invoked(write(GRID), "--out", str(tmp_path / "mine"))


def test_a_condition_on_a_column_that_is_not_there_is_refused_before_anything_runs(
    write: Callable[[str], str], tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="no column 'max_over_bests', did you mean max_over_best"):
        invoked(write(GRID), "--out", str(tmp_path / "out"), "--fail-if", "max_over_bests > 2")
    assert not (tmp_path / "out").exists()
