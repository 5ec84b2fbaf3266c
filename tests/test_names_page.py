"""docs/names.md leads to files that are there, and each released class is named by only one row."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "names.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| in articles"))
]


def test_every_file_is_there() -> None:
    files = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])]
    assert len(files) >= len(ROWS) > 40
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_every_row_names_something_released_and_no_two_rows_the_same() -> None:
    named = [tuple(re.findall(r"`([^`]+)`", row[1])) for row in ROWS]
    assert all(named)
    assert len(set(named)) == len(named)
    assert len({row[0] for row in ROWS}) == len(ROWS)
