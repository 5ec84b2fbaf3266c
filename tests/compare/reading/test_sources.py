"""Sources: what becomes a text, and the one line for what does not."""

import io
import sys
from pathlib import Path

import pytest

from compare.reading.observed import Skipped, SourceText
from compare.reading.sources import load


def only(argument: str) -> SourceText | Skipped:
    (found,) = load([argument])
    return found


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"GROUP\nx")))
    text = only("-")
    assert isinstance(text, SourceText)
    assert (text.name, text.lines) == ("-", ("GROUP", "x"))


def test_encodings(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for raw, lines in [
        ("größe".encode(), ("größe",)),
        ("größe".encode("utf-8-sig"), ("größe",)),
        ("größe".encode("utf-16"), ("größe",)),
        ("größe\n".encode() + "größe".encode("latin-1"), ("größe", "größe")),
        ("a\u2028b\x0bc\x85".encode(), ("a\u2028b\x0bc\x85",)),
    ]:
        with subtests.test(raw=raw, lines=lines):
            path = tmp_path / "x.txt"
            path.write_bytes(raw)
            text = only(str(path))
            assert isinstance(text, SourceText)
            assert text.lines == lines


@pytest.mark.parametrize(
    ("raw", "line", "why"), [(b"", None, "empty"), (b" \n\n", None, "empty"), (b"a\nb\0c", 2, "binary")]
)
def test_what_has_no_text(tmp_path: Path, raw: bytes, line: int | None, why: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(raw)
    found = only(str(path))
    assert isinstance(found, Skipped)
    assert found.source == str(path)
    assert found.line == line
    assert found.why.startswith(why)
    assert "expected" in found.why


def test_what_is_not_there(tmp_path: Path) -> None:
    for argument in (str(tmp_path / "gone.txt"), f"g={tmp_path / 'gone.txt'}"):
        found = only(argument)
        assert isinstance(found, Skipped)
        assert "No such file" in found.why
    empty = tmp_path / "empty"
    empty.mkdir()
    found = only(str(empty))
    assert isinstance(found, Skipped)
    assert "contains no file" in found.why
