"""Files of recorded cases, and the verb `conformance`."""

import gzip
import json
import shutil
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from compare.cli import main
from compare.conformance.cases import FileResult, play_file
from compare.conformance.players import PLAYERS, play_files
from protocols.errors import UserError
from tests.compare.conformance.kafka_recordings import recorded
from tests.compare.conformance.one_line import LINE

GOLDEN = Path(__file__).parents[2] / "golden"
VECTORS = GOLDEN / "kafka" / "assignors-client-range.jsonl.gz"


KAFKAJS = "join-kafkajs: m1 is a kafkajs client, which deals partitions in the order of the broker's metadata"
"""The one recording that the model does not play, and why."""


def _first(name: str, count: int) -> list[Any]:
    [path] = GOLDEN.glob(f"*/{name}.jsonl.gz")
    with gzip.open(path) as lines:
        return [json.loads(line) for line in islice(lines, count)]


def test_kinds_are_known_by_their_content_and_not_by_the_file_s_name(tmp_path: Path) -> None:
    mixed = tmp_path / "strategies-averagely.jsonl"
    lines = [*_first("assignors-client-range", 3), *_first("assignors-server-uniform", 2)]
    lines += [*_first("traces-lock_manager", 1), *_first("coordinator-consumer", 1), recorded("join-kafkajs")]
    mixed.write_text("\n".join(map(json.dumps, lines)))
    result = play_file(mixed, PLAYERS)
    assert (result.passed, result.failed, result.skipped) == (7, 0, 1)
    assert result.notes == [KAFKAJS]


def test_a_file_of_an_unknown_kind_is_skipped_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "frames.jsonl").write_text('{"n": 1, "frame": "00"}\n[2]')
    result = play_file(tmp_path / "frames.jsonl", PLAYERS)
    assert (result.passed, result.failed, result.skipped) == (0, 0, 2)
    assert result.notes == ["2 cases of an unknown kind: not playable yet"]


def test_unreadable_files_are_the_user_s_to_mend(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_text("{}")
    with pytest.raises(UserError, match="not gzip"):
        play_file(tmp_path / "a.jsonl.gz", PLAYERS)
    (tmp_path / "b.jsonl.gz").write_bytes(VECTORS.read_bytes()[:5000])
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "b.jsonl.gz", PLAYERS)
    damaged = bytearray(VECTORS.read_bytes())
    damaged[3000:3050] = bytes(50)
    (tmp_path / "c.jsonl.gz").write_bytes(damaged)
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "c.jsonl.gz", PLAYERS)
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "d.jsonl", PLAYERS)


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", "conformance", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    shutil.copy(GOLDEN / "kafka" / "coordinator-consumer.jsonl.gz", tmp_path / "deep")
    (tmp_path / "deep" / "good.jsonl").write_text(json.dumps(LINE) + "\n\n" + json.dumps(LINE))
    (tmp_path / "deep" / "trace.json").write_text(json.dumps(recorded("join-kafkajs"), indent=1))
    (tmp_path / "deep" / "notes.txt").write_text("not a case")
    return tmp_path


def test_a_folder_is_walked_and_each_file_has_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, folder) == 0
    deep = folder / "deep"
    assert capsys.readouterr().out.splitlines() == [
        f"{deep}/coordinator-consumer.jsonl.gz: 130 passed, 0 failed, 0 skipped",
        f"{deep}/good.jsonl: 2 passed, 0 failed, 0 skipped",
        f"{deep}/trace.json: 0 passed, 0 failed, 1 skipped",
        f"  {KAFKAJS}",
        "3 files: 132 passed, 0 failed, 1 skipped",
    ]


def test_a_failed_case_is_shown_and_exits_with_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / "bad.jsonl"
    bad.write_text("\n".join(json.dumps({**LINE, "id": f"\x1b[31m{n}", "expected": {}}) for n in range(9)))
    assert _run(monkeypatch, bad) == 1
    out = capsys.readouterr().out
    assert f"{bad}: 0 passed, 9 failed, 0 skipped" in out
    assert '\\x1b[31m0 expected.a: expected [], got [["t", 0]]' in out
    assert "... and 13 more differences" in out
    assert _run(monkeypatch, bad, "--verbose") == 1
    assert "\\x1b[31m8 expected.b" in capsys.readouterr().out
    assert _run(monkeypatch, bad, "--format", "markdown") == 1
    assert "\\[31m0 | expected.a" in capsys.readouterr().out
    assert _run(monkeypatch, bad, folder / "deep", "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["failed"], document["skipped"]) == (132, 9, 1)
    assert document["files"][0]["differences"][1] == {
        "case": "\x1b[31m0",
        "field": "expected.b",
        "expected": [],
        "got": [["t", 1]],
    }


def test_nothing_played_exits_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, folder / "deep" / "trace.json") == 1
    (folder / "empty").mkdir()
    assert _run(monkeypatch, folder / "empty") == 1
    (folder / "empty" / "empty.jsonl").write_text("")
    assert _run(monkeypatch, folder / "empty") == 1


def test_a_missing_or_unreadable_path_exits_with_2_and_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, folder / "nowhere") == 2
    assert "no such file or folder" in capsys.readouterr().err
    (folder / "x.jsonl.gz").write_text("no gzip")
    assert _run(monkeypatch, folder / "x.jsonl.gz", folder / "deep") == 2
    captured = capsys.readouterr()
    assert "good.jsonl: 2 passed" in captured.out
    assert len(captured.err.splitlines()) == 1
    assert "not gzip" in captured.err


def test_recordings_played_side_by_side_give_the_same_in_the_same_order() -> None:
    folder = Path(__file__).parents[2] / "captures" / "kafka" / "traces"
    files = [folder / "join-java-range.json", VECTORS, folder / "leave-java-range.json", folder / "join-java-848.json"]
    told: list[tuple[str, int]] = []

    def consumed(path: Path) -> Callable[[int], None]:
        return lambda position: told.append((path.name, position))

    one, several = (list(play_files(files, consumed, processes)) for processes in (1, 2))
    assert one == several
    assert [each.name for each in several if isinstance(each, FileResult)] == list(map(str, files))
    assert told[-1] == ("join-java-848.json", files[-1].stat().st_size)
