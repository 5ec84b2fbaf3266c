"""Whatever is wrong with a call, one line says what, where and what was expected, with exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compare.showing import ROOT, equipoise

CAPTURES = "examples/captures/rocketmq"
SCENARIO = "examples/scenarios/two-records-twice.yaml"
GRID = "name: g\nkind: allocations\nsystems: [kafka:range]\nmembers: [2]\ntopics: [1]\nqueues: [4]\n"
LOCAL = ("audit", "--engine", "local", CAPTURES)


def refusal(*arguments: str, code: int = 2, out: str = "") -> str:
    """The one line on standard error, where the call ends with this code and prints this."""
    done = equipoise(*arguments)
    assert done.returncode == code
    assert done.stdout == out
    (line,) = done.stderr.splitlines()
    return line


def test_a_call_that_cannot_be_understood_names_its_verb(subtests: pytest.Subtests) -> None:
    for arguments, told in [
        (["audit"], "equipoise audit: Missing argument 'SOURCE...'. See: equipoise audit --help"),
        (["audit", "--format"], "equipoise audit: Option '--format' requires an argument. See: equipoise audit --help"),
        (["states", "kafka", "x"], "equipoise states: Got unexpected extra argument (x). See: equipoise states --help"),
        (["draw"], "equipoise: No such command 'draw'. See: equipoise --help"),
    ]:
        with subtests.test(arguments=arguments, told=told):
            assert refusal(*arguments) == told


def test_a_number_that_is_none_or_out_of_all_bounds_is_refused(subtests: pytest.Subtests) -> None:
    for arguments, told in [
        (["--fail-if", "max > nan"], "--fail-if 'max > nan': 'nan' is not a number, expected one such as 1.5"),
        (["--fail-if", "max < inf"], "--fail-if 'max < inf': 'inf' is not a number, expected one such as 1.5"),
        (["--timeout", "nan"], "--timeout nan: expected seconds from 0.1 to 3600"),
        (
            ["--queues", f"TopicX={10**12}"],
            f"--queues 'TopicX={10**12}': expected TOPIC=N with N from 1 to 100000, such as orders=12",
        ),
        (
            ["--queues", "TopicX=5", "--queues", "TopicX=6"],
            "--queues 'TopicX=6': TopicX has 5 already, expected one number",
        ),
    ]:
        with subtests.test(arguments=arguments, told=told):
            assert refusal(*LOCAL, *arguments) == f"equipoise: {told}"


@pytest.mark.parametrize("verb", [("compare", SCENARIO), LOCAL], ids=["compare", "audit"])
def test_a_report_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path, verb: tuple[str, ...]) -> None:
    report = tmp_path / "none" / "report.html"
    expected = f"the folder {report.parent} does not exist, expected a writable file"
    assert refusal(*verb, "--report", str(report)) == f"equipoise: --report {report}: {expected}"


def test_a_report_replaces_the_old_one_or_leaves_it(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("old")
    other = tmp_path / "other-name"
    os.link(report, other)
    assert equipoise(*LOCAL, "--report", str(report)).returncode == 0
    # Written in place, the second name of the old file would show the new report.
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert other.read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other-name", "report.html"]


def test_a_folder_of_tables_that_cannot_be_made_is_refused_before_any_work(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    told = f"--parquet {file / 'tables'}: Not a directory ({file}), expected a writable folder"
    assert refusal("compare", SCENARIO, "--parquet", str(file / "tables")) == f"equipoise: {told}"


def test_where_nothing_was_played_the_line_names_what_was_given(tmp_path: Path) -> None:
    told = refusal("conformance", str(tmp_path), code=1)
    assert told.startswith(f"equipoise: no case was checked: {tmp_path} holds none, expected golden vectors")


def test_a_file_that_is_no_text_is_one_line_to_conformance(tmp_path: Path) -> None:
    file = tmp_path / "noise.jsonl"
    file.write_bytes(bytes(range(256)) * 2)
    told = refusal("conformance", str(file))
    assert told.startswith(f"equipoise: {file}: no line is a JSON object, expected golden vectors or recorded traces")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_no_failed_condition(subtests: pytest.Subtests, tmp_path: Path) -> None:
    snapshots, grid = tmp_path / "snapshots", tmp_path / "grid.yaml"
    grid.write_text(GRID)
    assert equipoise("watch", CAPTURES, "--polls", "1", "--out", str(snapshots)).returncode == 0
    for verb in [
        LOCAL,
        ("compare", SCENARIO, "--format", "json"),
        ("conformance", "tests/captures/kafka/traces"),
        ("examples",),
        ("explore", SCENARIO, "--depth", "1", "--random-runs", "0"),
        ("--help",),
        ("history", str(snapshots)),
        ("logs", os.devnull),
        ("plan", SCENARIO, "--to", "members=9", "--from", "rocketmq:AVG", "--seeds", "1"),
        ("serve", "kafka", "--port", "0"),
        ("states", "kafka"),
        ("sweep", str(grid), "--out", str(tmp_path / "sweep")),
        ("watch", CAPTURES, "--polls", "1", "--out", str(snapshots)),
    ]:
        with subtests.test(verb=verb):
            done = equipoise(*verb, stdout="/dev/full")
            assert done.returncode == 2
            told = done.stderr.splitlines()
            assert "standard output: No space left on device" in told[-1]
            assert len(told) <= 2, told  # before it a line of progress or advice


@pytest.mark.parametrize(("verb", "code"), [("states kafka", 0), ("audit none", 2)])
def test_streams_that_are_closed_change_no_exit_code(verb: str, code: int) -> None:
    command = f"{sys.executable} -m compare {verb} >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=ROOT, check=False).returncode == code
