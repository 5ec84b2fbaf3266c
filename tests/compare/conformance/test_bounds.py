"""Whatever a file of cases holds, it is one line and a bounded amount of memory."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare.conformance import cases
from compare.conformance.cases import Difference, Player, play_file
from compare.conformance.kafka_assignors import metadata
from compare.conformance.players import PLAYERS
from protocols import UserError
from tests.compare.showing import ROOT
from tests.rows import rows

MIB = 1 << 20
MEMORY_MIB = 1500
"""Address space of the command: about what an empty one takes with its libraries, and a few hundred MiB more."""


def bomb(path: Path, unit: bytes, mib: int) -> Path:
    """A compressed file of so many MiB of the unit, which itself takes next to nothing."""
    # Compressed parts one behind the other are one compressed whole.
    part = gzip.compress(unit * (MIB // len(unit)))
    path.write_bytes(part * mib)
    assert path.stat().st_size < 8 * MIB
    return path


def refused(path: Path) -> str:
    """The one line of a command that has not much memory."""
    limited = f"ulimit -v {MEMORY_MIB * 1024} && exec {sys.executable} -m compare conformance {path}"
    done = subprocess.run(["sh", "-c", limited], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"equipoise: {path}: ")
    return line


@pytest.mark.parametrize("ending", ["jsonl.gz", "json"])
def test_a_gzip_bomb_is_one_line(tmp_path: Path, ending: str) -> None:
    line = refused(bomb(tmp_path / f"bomb.{ending}", b"0", 2 * MEMORY_MIB))
    assert ("line 1 is longer than 16 MiB" if ending == "jsonl.gz" else "larger than 16 MiB") in line


def test_a_line_without_end_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    path.write_text('{"id": "')
    with path.open("r+b") as file:
        file.truncate(20_000 * MIB)
    assert "line 1 is longer than 16 MiB, expected one case a line" in refused(path)


@pytest.mark.parametrize("unit", [b"\n", b"{}\n", b"x\n"])
def test_lines_without_end_are_one_line(tmp_path: Path, unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_LINES", 1000)
    path = bomb(tmp_path / "many.jsonl.gz", unit, 1)
    with pytest.raises(UserError, match=r"many.jsonl.gz: more than 1000 lines, expected several files"):
        play_file(path, PLAYERS)


@rows(
    ("value", "why"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5000, "99999999999999999999... is beyond 64 bits"),
        ("-9223372036854775809", "-9223372036854775809 is beyond 64 bits"),
        ("1e999", "1e999 is not a JSON number"),
        ("9" * 5000 + ".5", "99999999999999999999... is not a JSON number"),
    ],
)
@rows("ending", ["jsonl", "json"])
def test_what_no_recording_holds_is_one_line(tmp_path: Path, value: str, why: str, ending: str) -> None:
    path = tmp_path / f"strange.{ending}"
    path.write_text(f'{{"assignor": {value}}}')
    with pytest.raises(UserError) as caught:
        play_file(path, PLAYERS)
    line = str(caught.value)
    assert "no line is a JSON object, expected golden vectors or recorded traces; line 1: " in line
    assert why in line
    assert len(line) < 400
    assert "\n" not in line


def test_a_pipe_that_lies_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "broken-link.jsonl").symlink_to(tmp_path / "nowhere")
    command = [sys.executable, "-m", "compare", "conformance", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, "broken-link.jsonl: cannot be read" in line) == (2, True)


def test_a_value_that_is_nested_as_deep_as_json_can_be_read_is_told_in_every_format(tmp_path: Path) -> None:
    depth = 900
    path = tmp_path / "deep.jsonl"
    path.write_text('{"assignor": "client-range", "id": ' + "[" * depth + "]" * depth + "}\n")
    for format in ("table", "markdown", "json"):
        command = [sys.executable, "-m", "compare", "conformance", str(path), "--format", format, "--verbose"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.returncode == 1
        assert "..." in done.stdout


def test_differences_beyond_all_reading_are_counted_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_DIFFERENCES", 10)
    always = Player("cases", lambda line: "x" in line, lambda line: [Difference("case", "x", 1, 2)] * 3)
    path = tmp_path / "many.jsonl"
    path.write_text('{"x": 1}\n' * 7 + "{}\n" * 4)
    found = play_file(path, [always])
    assert (found.failed, len(found.differences)) == (11, 10)
    assert found.notes == ["15 more differences are not kept"]


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["topics"].update({f"t{n}": 1_000_000 for n in range(2)}),
        lambda line: line["topics"].update(orders=10**18),
    ],
)
def test_more_partitions_than_a_cluster_has_are_no_case(change: Callable[[dict[str, Any]], None]) -> None:
    line: dict[str, Any] = {"assignor": "client-range", "id": "1", "topics": {}, "members": [], "member_order": []}
    change(line)
    with pytest.raises(cases.MalformedCase, match="at most 1000000"):
        metadata(line)


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("strategies-consistent_hash.jsonl.gz", ("params", "virtual_node_count")),
        ("strategies-machine_room_nearby.jsonl.gz", ("params", "inner_virtual_node_count")),
    ],
)
def test_more_virtual_nodes_than_memory_has_are_no_case(tmp_path: Path, file: str, path: tuple[str, str]) -> None:
    with gzip.open(ROOT / "tests/golden/rocketmq" / file) as recorded:
        line = next(each for each in map(json.loads, recorded) if path[1] in each["params"] and each.get("mq_all"))
    line[path[0]][path[1]] = 10**12
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps(line))
    (difference,) = play_file(changed, PLAYERS).differences
    assert difference.expected == "Input should be less than or equal to 10000"


def test_a_trace_of_many_years_is_no_case(tmp_path: Path) -> None:
    for file in ("kafka/coordinator-classic.jsonl.gz", "rocketmq/traces-consumer_manager.jsonl.gz"):
        with gzip.open(ROOT / "tests/golden" / file) as recorded:
            line = next(
                each for each in map(json.loads, recorded) if any(step["op"] == "advance" for step in each["steps"])
            )
        step = next(step for step in line["steps"] if step["op"] == "advance")
        step.get("req", step)["ms"] = 10**15
        changed = tmp_path / "changed.jsonl"
        changed.write_text(json.dumps(line))
        (difference,) = play_file(changed, PLAYERS).differences
        assert difference.expected == "a trace of 0 to 8640000000 ms"
