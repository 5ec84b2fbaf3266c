"""What the committed notebooks show is what their cells put out."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

from execute import executed, notebooks

SPARK = "8-a-million-groups"
"""In `make test` its cells are run with fewer groups, where there is a Spark session already
(`tests/compare/measure/spark/test_notebook.py`)."""

ALL = notebooks()


def _names(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_there_are_nine_in_the_order_of_their_numbers() -> None:
    assert [name.split("-")[0] for name in _names(ALL)] == [str(number) for number in range(1, 10)]


@pytest.mark.parametrize("path", [path for path in ALL if path.stem != SPARK], ids=lambda path: path.stem)
def test_a_run_puts_out_what_is_committed(path: Path) -> None:
    committed, run = nbformat.read(path, as_version=4), executed(path)
    for then, now in zip(committed.cells, run.cells, strict=True):
        assert _told(now) == _told(then), then["source"]
    assert nbformat.writes(run) == path.read_text(encoding="utf-8").removesuffix("\n"), "run `make notebooks`"


@pytest.mark.slow
def test_the_one_with_spark_puts_out_what_is_committed() -> None:
    path = next(path for path in ALL if path.stem == SPARK)
    committed = path.read_text(encoding="utf-8").removesuffix("\n")
    assert nbformat.writes(executed(path)) == committed, "run `make notebooks`"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_pictures_are_whole_and_come_with_words(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            picture = output.get("data", {}).get("image/svg+xml")
            if picture is not None:
                root = ElementTree.fromstring(picture)
                assert root.find("{http://www.w3.org/2000/svg}title") is not None
                assert "href" not in picture
                assert len(output["data"]["text/plain"].splitlines()) > 1


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_each_has_a_goal_a_prediction_and_two_exercises(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    words = "\n".join(cell["source"] for cell in notebook.cells if cell["cell_type"] == "markdown")
    number = path.stem.split("-")[0]
    assert "**Goal.**" in words
    assert re.search(r"rediction", words)
    assert re.findall(r"^## Exercise (\S+)", words, re.MULTILINE) == [f"{number}.1", f"{number}.2"]
    assert all(f'check("{number}.{each}"' in _code(notebook) for each in (1, 2))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_links_between_notebooks_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_only_the_eighth_starts_spark(path: Path) -> None:
    assert ("spark" in _code(nbformat.read(path, as_version=4))) == (path.stem == SPARK)


def _code(notebook: Any) -> str:
    return "\n".join(cell["source"] for cell in notebook.cells if cell["cell_type"] == "code")


def _told(cell: Any) -> list[str]:
    """The text that a cell puts out: what it prints and its last value in words."""
    return [output.get("text") or output["data"]["text/plain"] for output in cell.get("outputs", [])]
