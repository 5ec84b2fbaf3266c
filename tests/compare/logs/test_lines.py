"""Which lines of which files are looked at, in which order, under which numbers."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from compare.logs import lines
from compare.logs.lines import LogFile, Reading, lines_with, log_files
from compare.logs.reading import read
from protocols.errors import UserError

KEYS = (b"group", b"epoch")


def found(path: Path) -> list[tuple[int, bytes]]:
    return list(lines_with(LogFile(path.name, path.name, path), KEYS, Reading()))


@pytest.mark.parametrize("block", [7, 64, 4096])
def test_lines_keep_their_numbers_over_the_borders_of_blocks(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK", block)
    text = [b"group 1 epoch 1" if number % 7 == 3 else b"nothing" * (number % 5) for number in range(100)]
    path = tmp_path / "a.log"
    path.write_bytes(b"\n".join(text))
    assert found(path) == [(number + 1, line) for number, line in enumerate(text) if b"group" in line]


def test_gzip_is_seen_from_the_content_and_a_cut_one_is_read_up_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    packed = gzip.compress(b"x\ngroup a\n" + bytes(range(256)) * 400 + b"\ngroup b\n", compresslevel=0)
    path.write_bytes(packed)
    assert found(path)[0][0] == 2
    path.write_bytes(packed[: len(packed) // 2])
    assert len(found(path)) <= 1


CRI = b"2026-11-22T01:39:11.25Z stdout "


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([CRI + b"P a gro", CRI + b"F up"], None),  # neither part holds a key
        ([CRI + b"P group ", CRI + b"P a ", CRI + b"F b"], CRI + b"F group a b"),
        ([CRI + b"P a ", CRI + b"F group"], CRI + b"F a group"),
        ([CRI + b"F group", CRI + b"F b"], CRI + b"F group"),
        (
            [b'{"log":"group \\"a","stream":"stdout","time":"x"}', b'{"log":" b\\n","stream":"stdout","time":"y"}'],
            b'{"log":"group \\"a b\\n","stream":"stdout","time":"x"}',
        ),
    ],
)
def test_a_line_that_a_container_runtime_broke_is_one(tmp_path: Path, parts: list[bytes], whole: bytes | None) -> None:
    (tmp_path / "a.log").write_bytes(b"\n".join([b"first", *parts, b"last"]))
    assert found(tmp_path / "a.log") == ([(2, whole)] if whole is not None else [])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("group".encode("utf-16"), "UTF-16"),
        ("group".encode("utf-16-be"), "UTF-16"),
        (b"\x28\xb5\x2f\xfdgroup", "zstd"),
        (b"", "empty"),
    ],
)
def test_what_is_not_read_is_said(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a.log").write_bytes(data)
    (row,) = read(log_files([str(tmp_path)]), {}).skipped()
    assert why in row["why"]


def test_the_mark_before_utf_8_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\xef\xbb\xbfgroup")
    assert found(tmp_path / "a.log") == [(1, b"group")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\ngroup\n")))
    (file,) = log_files(["-"])
    assert list(lines_with(file, KEYS, Reading())) == [(2, b"group")]


@pytest.mark.parametrize(
    "names",
    [
        ["server.log.2026-11-21-23", "server.log.2026-11-22-00", "server.log"],
        ["app.log.12", "app.log.2", "app.log.1", "app.log"],
        ["app-2026-11-21.2.log", "app-2026-11-21.1.log", "app.log"],
        ["app.log.3.gz", "app.log.2.gz", "app.log"],
    ],
)
def test_rotated_files_are_one_stream_from_the_oldest_on(tmp_path: Path, names: list[str]) -> None:
    for name in sorted(names):
        (tmp_path / name).write_text("x\n")
    files = log_files([str(tmp_path)])
    assert [file.name for file in files] == names
    assert len({file.base for file in files}) == 1


def test_files_of_one_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app.log").write_text("x\n")
    names = [file.name for file in log_files([str(tmp_path)])]
    assert names == [str(tmp_path / "a" / "app.log"), str(tmp_path / "b" / "app.log")]


def test_a_source_that_is_not_there() -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        log_files(["/nowhere/at/all.log"])
