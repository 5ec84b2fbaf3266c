"""The notebook that starts Spark, with fewer groups than it has, in the session of the tests."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from pyspark.sql import SparkSession

from tests.compare.figures.spark.spark_fixture import session

__all__ = ["session"]

NOTEBOOKS = Path(__file__).parents[4] / "notebooks"


@pytest.mark.slow
def test_its_cells_run_with_fewer_groups(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EQUIPOISE_GROUPS", "2000")
    names: dict[str, Any] = {"__name__": "__main__"}
    notebook = nbformat.read(NOTEBOOKS / "8-a-million-groups.ipynb", as_version=4)
    for number, cell in enumerate(notebook.cells):
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], f"cell {number}", "exec"), names)
    assert names["session"] is session
    told = capsys.readouterr().out
    assert "2,000 groups" in told
    assert "the same: True" in told
    assert "cut in other pieces: True" in told
