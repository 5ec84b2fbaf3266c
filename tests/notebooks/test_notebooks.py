"""What the committed notebooks show is what their cells put out, and they need nothing but the package."""

import ast
import re
import sys
import tomllib
from base64 import b64decode
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from execute import executed, notebooks

from equipoise.names import DOOR, PACKAGES

PROJECT = Path(__file__).parents[2] / "pyproject.toml"

SPARK = "8-a-million-groups"
"""In `make test` its cells are run with fewer groups, where there is a Spark session already
(`tests/compare/figures/spark/test_notebook.py`)."""

EXERCISES_BESIDES = {"2-kafka-coordinator": (3,)}
"""Each notebook has two exercises; these have more."""

ALL = notebooks()

ASKING = re.compile(r"^## Your prediction$|\*Prediction:", re.MULTILINE)
"""How a notebook asks for a prediction."""


def _names(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_there_are_ten_in_the_order_of_their_numbers() -> None:
    assert [name.split("-")[0] for name in _names(ALL)] == [str(number) for number in range(1, 11)]


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


def test_pictures_are_whole_and_come_with_words(subtests: pytest.Subtests) -> None:
    for path in ALL:
        with subtests.test(path=path):
            for cell in nbformat.read(path, as_version=4).cells:
                for output in cell.get("outputs", []):
                    for picture in _pictures(output):
                        root = ElementTree.fromstring(picture)
                        assert root.find("{http://www.w3.org/2000/svg}title") is not None
                        assert "href" not in picture
                        assert len(output["data"]["text/plain"].splitlines()) > 1


def _pictures(output: Any) -> list[str]:
    """The pictures of an output, in the open or folded."""
    data = output.get("data", {})
    inside = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', data.get("text/html", ""))
    shown = [data["image/svg+xml"]] if "image/svg+xml" in data else []
    return [*shown, *(b64decode(each).decode() for each in inside)]


def test_every_prediction_comes_before_its_answer_which_is_folded(subtests: pytest.Subtests) -> None:
    """Of the cells from a prediction to the next words all outputs are folded, and those words too, unless they begin
    something new."""
    for path in ALL:
        with subtests.test(path=path):
            cells = nbformat.read(path, as_version=4).cells
            asking = [
                at for at, cell in enumerate(cells) if cell["cell_type"] == "markdown" and ASKING.search(cell["source"])
            ]
            assert asking
            for at in asking:
                after = next(
                    place for place, cell in enumerate(cells) if place > at and cell["cell_type"] == "markdown"
                )
                shown = [_is_folded(output) for cell in cells[at + 1 : after] for output in cell["outputs"]]
                assert shown, cells[at]["source"]
                assert all(shown), cells[at]["source"]
                assert cells[after]["source"].startswith(("<details>\n<summary>", "## ")), cells[after]["source"]


def _is_folded(output: Any) -> bool:
    shown = output.get("data", {}).get("text/html", "")
    return shown.startswith("<details>\n<summary>") and shown.endswith("</details>")


def test_nothing_is_imported_but_the_package_and_what_it_depends_on(subtests: pytest.Subtests) -> None:
    """A plain install runs a notebook: no test, tool or file beside it, and no dependency of developers alone."""
    for path in ALL:
        with subtests.test(path=path):
            project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
            packages = {*PACKAGES, DOOR}
            extras = project["project"]["optional-dependencies"]
            assert "equipoise[spark]" in extras["notebooks"]
            needed = [*project["project"]["dependencies"], *extras["spark"], *extras["notebooks"]]
            declared = {_normal(re.split(r"[<>=\[;, ]", each)[0]) for each in needed}
            distributions = packages_distributions()
            for name in _imported(_code(nbformat.read(path, as_version=4))):
                known = name in packages or name in sys.stdlib_module_names
                assert known or declared & {_normal(each) for each in distributions.get(name, [])}, name


def test_a_helper_beside_the_notebooks_would_be_seen() -> None:
    assert set(_imported("def f():\n    import checks.kinds\nfrom runs import run\nfrom . import beside")) == {
        "checks",
        "runs",
        "",
    }


def _imported(code: str) -> Iterator[str]:
    """The top-level packages that a notebook's code imports; empty for one beside it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (each.name.split(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "" if node.level else (node.module or "").split(".")[0]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_each_has_a_goal_what_it_needs_and_exercises_with_checks(subtests: pytest.Subtests) -> None:
    for path in ALL:
        with subtests.test(path=path):
            notebook = nbformat.read(path, as_version=4)
            words = "\n".join(cell["source"] for cell in notebook.cells if cell["cell_type"] == "markdown")
            number = path.stem.split("-")[0]
            assert "**Goal.**" in words
            assert "`notebooks`: `pip install " in notebook.cells[0]["source"]
            exercises = [f"{number}.{each}" for each in (1, 2, *EXERCISES_BESIDES.get(path.stem, ()))]
            assert re.findall(r"^## Exercise (\S+)", words, re.MULTILINE) == exercises
            assert re.findall(r'check\("([^"]+)"', _code(notebook)) == exercises


def test_links_between_notebooks_lead_somewhere(subtests: pytest.Subtests) -> None:
    for path in ALL:
        with subtests.test(path=path):
            for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
                assert (path.parent / target).exists(), target


def test_only_the_eighth_starts_spark(subtests: pytest.Subtests) -> None:
    for path in ALL:
        with subtests.test(path=path):
            assert ("spark" in _code(nbformat.read(path, as_version=4))) == (path.stem == SPARK)


def _code(notebook: Any) -> str:
    return "\n".join(cell["source"] for cell in notebook.cells if cell["cell_type"] == "code")


def _told(cell: Any) -> list[str]:
    """The text that a cell puts out: what it prints and its last value in words."""
    return [output.get("text") or output["data"]["text/plain"] for output in cell.get("outputs", [])]
