"""Notebooks in Chinese: cells and outputs of the English ones, with texts of their own.

The texts lie in notebooks/zh, one file for each notebook; a comment ``<!-- cell 3 -->`` begins the fourth cell of
text. There a link to another lesson leads to its texts; in the notebook it leads to the notebook.

`python -m tools.site.translations FOLDER` writes the notebooks into a folder.
"""

import json
import re
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
TEXTS = NOTEBOOKS / "zh"

MARK = re.compile(r"^<!-- cell (\d+) -->\n", re.MULTILINE)
LESSON = re.compile(r"\]\((\d+-[a-z-]+)\.md\)")


def translated() -> dict[str, dict[str, Any]]:
    """Path of each Chinese notebook, from the root of the repository, to its content."""
    return {f"notebooks/zh/{path.stem}.ipynb": in_chinese(path.stem) for path in sorted(TEXTS.glob("*.md"))}


def in_chinese(name: str) -> dict[str, Any]:
    """The notebook of this name, without its ending. `ValueError` where cells of text and texts do not match."""
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    return with_texts(notebook, texts((TEXTS / f"{name}.md").read_text(encoding="utf-8")))


def with_texts(notebook: Mapping[str, Any], new: list[str]) -> dict[str, Any]:
    """A copy whose cells of text have these texts. `ValueError` unless there are as many."""
    copy = deepcopy(dict(notebook))
    cells = [cell for cell in copy["cells"] if cell["cell_type"] == "markdown"]
    if len(cells) != len(new):
        raise ValueError(f"{len(cells)} cells of text, {len(new)} texts")
    for cell, text in zip(cells, new, strict=True):
        cell["source"] = LESSON.sub(r"](\1.ipynb)", text).splitlines(keepends=True)
    return copy


def texts(page: str) -> list[str]:
    """The texts of a file, in order. `ValueError` where the marks do not count up from 0."""
    _, *parts = MARK.split(page)
    if [int(number) for number in parts[::2]] != list(range(len(parts) // 2)):
        raise ValueError("expected the cells 0, 1, 2, ... in order")
    return [text.strip() for text in parts[1::2]]


def main(folder: Path) -> None:
    """Write the Chinese notebooks into a folder, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, notebook in translated().items():
        written = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
        (folder / Path(path).name).write_text(written, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.site.translations FOLDER")
    main(Path(sys.argv[1]))
