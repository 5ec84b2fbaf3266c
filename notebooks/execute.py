"""Execute the notebooks and write them with what they put out: `python notebooks/execute.py [NAME.ipynb...]`.

The same notebook gives the same bytes each time: times, counters of the machine and what goes to standard error
(progress, warnings of a Java runtime) are not kept.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).resolve().parent
LONGEST = 600
"""Seconds that one cell may take."""


def notebooks() -> list[Path]:
    """All notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"), key=lambda path: int(path.name.partition("-")[0]))


def executed(path: Path, environment: Mapping[str, str] | None = None) -> nbformat.NotebookNode:
    """The notebook after a run in a fresh kernel and an empty folder, without anything that differs from run to run.

    ``environment``: variables set beside those of this process. Raises `nbclient.exceptions.CellExecutionError` where
    a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with (
        tempfile.TemporaryDirectory(prefix="equipoise-") as home,
        tempfile.TemporaryDirectory(prefix="equipoise-") as empty,
    ):
        client = NotebookClient(
            notebook,
            timeout=LONGEST,
            kernel_name="python3",
            resources={"metadata": {"path": empty}},
            extra_arguments=["--IPKernelApp.log_level=40"],
            config=Config({"KernelManager": {"runtime_dir": home}}),
        )
        # A profile of one's own may change what cells put out, and history is nobody's business.
        client.execute(env={**os.environ, "IPYTHONDIR": home, **(environment or {})})
    return _plain(notebook)


def _plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    count = 0
    for place, cell in enumerate(notebook.cells, 1):
        cell["id"] = f"cell-{place:02}"
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _outputs(cell["outputs"], count)
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook["nbformat_minor"] = 5
    return notebook


def _outputs(outputs: list[Any], count: int) -> list[Any]:
    kept: list[Any] = []
    for output in outputs:
        if output["output_type"] == "stream":
            if output["name"] == "stderr":
                continue
            if kept and kept[-1]["output_type"] == "stream":
                kept[-1]["text"] += output["text"]
                continue
        if "execution_count" in output:
            output["execution_count"] = count
        if "metadata" in output:
            output["metadata"] = {}
        kept.append(output)
    return kept


def main(names: list[str]) -> None:
    """Execute those named, or all, and write them where they are."""
    for path in [FOLDER / Path(name).name for name in names] or notebooks():
        began = time.monotonic()
        nbformat.write(executed(path), path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
