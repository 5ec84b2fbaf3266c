"""`equipoise sweep` as a whole: the same bytes in however many processes, after a stop, after damage."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import quantiles
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.figures.spark.sessions import names_cluster
from compare.sweeping import folder, running
from compare.sweeping.folder import Finished, opened, parts_of
from compare.sweeping.grid import Sweep
from compare.sweeping.reading import read_text
from compare.sweeping.running import engine_for, run_parts
from protocols.errors import UserError
from tests.compare.showing import ROOT
from tests.rows import rows

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


def files_of(out: Path) -> Mapping[str, str]:
    """Every file of rows with the hash of its bytes."""
    found = sorted((out / "rows").rglob("*.parquet"))
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def run(sweep: Sweep, out: Path, tasks: int | None = None, engine: str = "local") -> Finished:
    finished = opened(out, sweep, parts_of(sweep))
    run_parts(sweep, finished, lambda finished: None, engine, tasks)
    return finished


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder.MOST_SIZE, "allocations", 1_500)


@pytest.mark.usefixtures("small_parts")
def test_the_same_bytes_in_this_process_and_in_several(tmp_path: Path) -> None:
    sweep = read_text(GRID).sweep
    one, many = run(sweep, tmp_path / "one", 1), run(sweep, tmp_path / "many", 3)
    assert len(one.records) == len(many.records) == len(parts_of(sweep)) > 8
    assert files_of(tmp_path / "one") == files_of(tmp_path / "many")


@pytest.mark.usefixtures("small_parts")
def test_only_parts_with_the_digest_of_their_record_count(tmp_path: Path, write: Callable[[str], str]) -> None:
    sweep = read_text(GRID).sweep
    whole = run(sweep, tmp_path / "out", 1)
    before = files_of(tmp_path / "out")
    names = sorted(before)
    paths = [tmp_path / "out" / name for name in names]
    done = [tmp_path / "out" / "done" / name.removeprefix("rows/").removesuffix(".parquet") for name in names]
    paths[0].write_bytes(paths[0].read_bytes()[:-100])
    content = bytearray(paths[1].read_bytes())
    content[len(content) // 2] ^= 1
    paths[1].write_bytes(content)
    paths[2].unlink()
    done[3].write_text("[" * 10_000)
    done[4].unlink()
    paths[6].write_bytes(paths[5].read_bytes())  # a whole part, but not this one
    kept = {path: path.stat().st_mtime_ns for path in (paths[5], *paths[7:])}

    found = opened(tmp_path / "out", sweep, parts_of(sweep)).damaged
    assert list(found) == [path.parent.name + "/" + path.name for path in (*done[:4], done[6])]
    assert [why.rpartition(" ")[2] for why in found.values()][1:4] == ["recorded", "missing", "read"]
    done[0].write_text(json.dumps(whole.records[next(iter(whole.parts))]))
    code, _, progress = invoked(write(GRID), "--out", str(tmp_path / "out"), "--tasks", "1")
    assert code == 0
    (line,) = (line for line in progress.splitlines() if line.startswith("computed again"))
    assert " is not what was written: variant=" in line
    assert "part-00000 (" in line
    assert files_of(tmp_path / "out") == before
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


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
    found = json.loads(told)
    rows: list[dict[str, Any]] = []
    for path in sorted((tmp_path / "out" / "rows").rglob("*.parquet")):
        rows += ({**row, "variant": path.parent.name} for row in pq.ParquetFile(path).read().to_pylist())
    assert found["rows"] == len(rows) == 12
    for record in found["summary"]:
        name = record["variant"].partition(":")[2]
        of = [row for row in rows if row["event"] == record["event"] and row["variant"].endswith(name)]
        assert record["runs"] == len(of) == 3
        for name in ("event_settle_s", "event_moves", "event_rebalances"):
            of_twenty = quantiles([row[name] for row in of], n=20, method="inclusive")
            told_of = [record[f"{name}_{word}"] for word in ("p5", "median", "p95")]
            assert told_of == pytest.approx([of_twenty[at] for at in (0, 9, 18)])
    crash = {(each["variant"], each["event"]): each["event_settle_s_median"] for each in found["summary"]}
    assert 40 < crash["kafka:range", "crash"] < 55
    assert crash["rocketmq:AVG", "crash"] < 5


def test_where_nobody_owns_a_queue_nothing_is_said_of_owners(write: Callable[[str], str], tmp_path: Path) -> None:
    grid = RUNS.replace("kafka:range, rocketmq:AVG", "kafka:share, rocketmq:POP").replace("0..2", "0")
    code, told, _ = invoked(write(grid), "--out", str(tmp_path / "out"), "--format", "json", "--tasks", "1")
    assert code == 0
    for record in json.loads(told)["summary"]:
        assert record["settled_share"] is record["event_settle_s_median"] is None
        assert record["runs"] == 1
        assert record["lag_peak_median"] > 0


BLOCKED = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None
from compare.cli import main
main()
"""
SMALL = """\
name: 576 rows
kind: allocations
members: [1..4]
topics: [1, 3]
queues: [1..3]
subscriptions: [equal, nested]
events: [none, join, grow]
systems: [kafka:range, kafka:sticky, rocketmq:AVG]
"""


def test_a_small_grid_needs_no_spark(write: Callable[[str], str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", BLOCKED, "sweep", write(SMALL), "--out", str(tmp_path / "out"), "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 576


def test_spark_computes_where_it_is_named_a_cluster_and_the_grid_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.os, "cpu_count", lambda: 2)
    monkeypatch.setenv("SPARK_MASTER", "spark://there:7077")
    assert [engine_for(parts) for parts in (1, 2, 3)] == ["local", "local", "spark"]
    monkeypatch.setenv("SPARK_MASTER", "local[4]")
    assert engine_for(1000) == "local"
    assert names_cluster({"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"})
    assert not names_cluster({})


LONG = """\
name: longer than anybody waits
kind: simulations
members: 2
topics: 1
queues: 2
events: [join, crash]
systems: [kafka:range, rocketmq:AVG]
seeds: 0..99999
for: 70s
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_is_one_line_and_what_is_computed_stays(
    how: signal.Signals, write: Callable[[str], str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "compare", "sweep", write(LONG), "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not list(out.glob("done/*/*")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(how)
        told, progress = process.communicate(timeout=20)
    sweep = read_text(LONG).sweep
    parts = parts_of(sweep)
    finished = opened(out, sweep, parts)
    assert finished.records
    assert not finished.damaged
    word, code = ("ended by SIGTERM", 143) if how is signal.SIGTERM else ("interrupted", 2)
    assert (process.returncode, told) == (code, "")
    done = f"{len(finished.records)} of {len(parts)} parts are finished"
    last = progress.splitlines()[-1]
    assert last == f"equipoise: {word}: {done}; the same command goes on there"
    assert "Traceback" not in progress


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


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


@rows(
    "place",
    [folder.SWEEP, "rows/variant=kafka%3Arange/part-00000.parquet", "done/variant=kafka%3Arange/part-00000", "notes"],
)
@rows("put", [os.mkfifo, _listen, os.mkdir])
def test_what_is_no_file_is_told_before_it_is_opened(
    place: str,
    put: Callable[[Path], object],
    write: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep, out = read_text(GRID).sweep, Path(f"out{len(os.listdir())}")
    opened(out, sweep, parts_of(sweep))
    (out / place).unlink(missing_ok=True)
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    put(out / place)
    if (place, put) == ("notes", os.mkdir):
        return  # a folder more does no harm
    with pytest.raises(UserError, match=f"^--out {out}: {re.escape(place)} is not a file, expected a new folder"):
        invoked(write(GRID), "--out", str(out))


def test_a_condition_on_a_column_that_is_not_there_is_refused_before_anything_runs(
    write: Callable[[str], str], tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="no column 'max_over_bests', did you mean max_over_best"):
        invoked(write(GRID), "--out", str(tmp_path / "out"), "--fail-if", "max_over_bests > 2")
    assert not (tmp_path / "out").exists()
