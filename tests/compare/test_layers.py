"""The folders of `compare` build on each other in one order: what stands later imports from what stands earlier."""

import ast
from pathlib import Path

from tests.module_graph import nodes

ROOT = Path(__file__).parents[2]

ORDER = (
    "json_types",
    "catalogues",
    "process_pool",
    "console",
    "reading",
    "scenarios",
    "measure.moved_queues",
    "measure.figures",
    "snapshots",
    "measure.spark",
    "measure.engines",
    "documents",
    "measure.optimum",
    "measure.groups",
    "measure.runs",
    "spark",
    "diagnosis",
    "states",
    "narrative",
    "report",
    "logs",
    "pictures",
    "examples",
    "audit",
    "watching",
    "history",
    "comparison",
    "sweeping",
    "exploring",
    "planning",
    "conformance",
    "serving",
    "testing",
    "lessons",
    "cli",
)
"""Folders and single files, as in the table of DEVELOPERS.md."""

DOORS = {"compare", "compare.__main__"}
"""Import when they are asked: `compare/__init__.py` hands out names, `__main__` starts the command line."""


def place(module: str) -> str | None:
    """The entry of `ORDER` that a module belongs to; None of the packages around them."""
    inside = module.removeprefix("compare.")
    return next((each for each in ORDER if inside == each or inside.startswith(f"{each}.")), None)


def imported(source: str) -> set[str]:
    """The modules of `compare` that a module's text imports, at any depth of its code; packages by what is taken."""
    found: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return {each for each in found if each.startswith("compare.")}


def wrong_imports(module: str, source: str) -> list[str]:
    """What a module imports from folders that stand later than its own."""
    own = place(module)
    assert own is not None, f"{module} has no place in ORDER"
    return [
        f"{module} imports {each}"
        for each in sorted(imported(source))
        if (other := place(each)) is not None and ORDER.index(other) > ORDER.index(own)
    ]


def test_every_folder_imports_only_from_those_before_it() -> None:
    wrong: list[str] = []
    for path in sorted((ROOT / "compare").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module not in DOORS | {"compare.measure"}:
            wrong += wrong_imports(module, path.read_text(encoding="utf-8"))
    assert not wrong


def test_the_walk_sees_an_import_that_points_forward() -> None:
    source = "def f():\n    from compare.narrative.verdict import verdict\n"
    assert wrong_imports("compare.measure.runs.lag", source) == [
        "compare.measure.runs.lag imports compare.narrative.verdict.verdict"
    ]
    assert not wrong_imports("compare.comparison.document", source)
    assert wrong_imports("compare.measure.figures.local", "from compare import spark")


def test_only_spark_imports_spark() -> None:
    for path in sorted((ROOT / "compare").rglob("*.py")):
        for node in nodes(path.read_text(encoding="utf-8")):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] in ("pyspark", "py4j") for name in names):
                assert "compare/measure/spark" in path.as_posix(), path
