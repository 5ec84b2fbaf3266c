"""Names are data: they do no harm in any output."""

import json
import os
import re
import subprocess
import sys

import pytest

from compare.formatting import markdown_text, number, visible
from compare.showing.console import print_json, print_table
from tests.compare.showing import EXAMPLES, ROOT

HOSTILE = [
    "[red]x[/red]",
    "\x1b[31mred\x1b[0m",
    "a|b",
    "`rm`",
    "<script>alert(1)</script>",
    "=1+1",
    "\u202etxt.exe",
    "\ud800",
]


def test_control_characters_are_shown_as_escapes() -> None:
    assert visible("\x1b[31m\u202ea\nb") == "\\x1b[31m\\u202ea\\nb"
    assert visible("группа 消費 👩‍💻") == "группа 消費 👩‍💻"


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_a_table_shows_every_name_and_obeys_none(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table([("name", "left"), ("n", "right")], [[name, "1"] for name in HOSTILE], format)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]x[/red]" in out.replace("\\", "")
    rows = [line for line in out.splitlines() if "1" in line]
    assert len(rows) == len(HOSTILE)
    if format == "markdown":
        # A bar or a tag in a name is escaped, so every row has the two cells of the heading.
        assert all(line.replace("\\|", "").count("|") == 3 for line in rows)
        assert "<script>" not in out


def test_markdown_escapes_what_markdown_reads() -> None:
    assert markdown_text("a|b_*c*") == "a\\|b\\_\\*c\\*"


def test_json_is_ascii_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"names": HOSTILE, "jain": 0.1 + 0.2})
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out) == {"names": HOSTILE, "jain": 0.1 + 0.2}


def test_numbers_for_people() -> None:
    assert [number(x) for x in (None, 3, 2.0, 1.23456)] == ["-", "3", "2", "1.23"]


COLUMNS = [("group", "left"), ("why", "left"), *((f"no owner, {name}", "right") for name in "abcdefgh")]
ROWS = [
    ["orders-consumers", "a session that timed out", *(f"{at}12.{at}5 (9..15)" for at in range(8))],
    ["billing", "-", *("0" for _ in range(8))],
]


def in_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a table as a terminal of this width has them, without what makes them bold."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(COLUMNS, ROWS, "table")
    return re.sub("\x1b[^m]*m", "", capsys.readouterr().out).splitlines()


def test_in_a_narrow_terminal_every_number_is_whole_and_beside_its_group(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in [40, 60, 80, 100, 132]:
        with subtests.test(width=width):
            lines = in_a_terminal(width, monkeypatch, capsys)
            assert all(len(line) <= width for line in lines)
            for figure in ROWS[0][2:]:
                (line,) = (line for line in lines if figure in line)
                assert line.startswith(" orders-consumers ")
            assert " ".join(" ".join(lines).split()).count("session") == 1


def test_a_wide_terminal_and_a_file_have_one_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = [line.rstrip() for line in in_a_terminal(400, monkeypatch, capsys)]
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", "40")
    print_table(COLUMNS, ROWS, "table")
    assert [line for line in capsys.readouterr().out.splitlines() if line] == [line for line in wide if line]


def test_a_reader_that_goes_away_is_no_failure(subtests: pytest.Subtests) -> None:
    for unbuffered in ["", "1"]:
        for arguments in [
            ["audit", "--engine", "local", str(EXAMPLES)],
            ["states", "kafka"],
            ["states", "kafka", "--format", "json"],
        ]:
            with subtests.test(unbuffered=unbuffered, arguments=arguments):
                command = [sys.executable, "-m", "compare", *arguments]
                environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
                with subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment
                ) as running:
                    assert running.stdout is not None
                    assert running.stderr is not None
                    running.stdout.close()
                    assert running.stderr.read() == b""
                assert running.returncode == 0
