"""The packages import in one direction only, compare -> the two systems -> protocols; the files of a package without
circles."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.module_graph import circles, nodes

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "protocols": set(),
    "kafka_coordinator": {"protocols"},
    "rocketmq_selfbalance": {"protocols"},
    "compare": {"protocols", "kafka_coordinator", "rocketmq_selfbalance"},
    "equipoise": set(),  # finds the others by their names
}
CIRCLES = {
    "a simulation holds its processes and links, a link delivers to a process, a process sends over its links and asks"
    " the simulation for the time": frozenset(
        f"protocols.engine.{name}" for name in ("links", "process", "simulation")
    ),
}
"""Why a circle of imports may be, to the modules that may be in it. All others are opened."""

MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 300, 60

PACKAGES = [*MAY_IMPORT, "tests", "benchmarks"]


def imported_packages(source: str) -> set[str]:
    """Our own top-level packages that a module's text imports, at any depth of its code."""
    found: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Lazy imports name their module in a string.
            found.update({node.value.split(".")[0]} if is_module(node.value) else set())
    return found & set(PACKAGES)


def is_module(text: str) -> bool:
    """Whether the text names a module of the working copy that is in a package, or (after a colon) something in it."""
    name = text.partition(":")[0]
    if not re.fullmatch(r"\w+(\.\w+)+", name):
        return False
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_in_the_one_direction(package: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): extra
        for path in sorted((ROOT / package).rglob("*.py"))
        if (extra := imported_packages(path.read_text(encoding="utf-8")) - MAY_IMPORT[package] - {package})
    }
    assert not wrong


def test_the_walk_sees_a_wrong_arrow() -> None:
    assert imported_packages("def f():\n    from kafka_coordinator.assign import assign\n") == {"kafka_coordinator"}
    assert imported_packages("importlib.import_module('compare.cli')") == {"compare"}


def test_files_of_one_package_import_each_other_in_no_circle() -> None:
    found = [circle for package in MAY_IMPORT for circle in circles(ROOT / package)]
    assert [sorted(circle) for circle in found if not any(circle <= known for known in CIRCLES.values())] == []
    opened = [why for why, known in CIRCLES.items() if not any(circle <= known for circle in found)]
    assert not opened, "these circles are opened: take them off the list"


@pytest.mark.parametrize(
    "second",
    [
        "from package.first import A",
        "def f():\n    import package.first",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package import first",
        "from package.inner import third",
    ],
)
def test_a_circle_of_imports_is_found(tmp_path: Path, second: str) -> None:
    files = {
        "__init__.py": "",
        "first.py": "import package.second",
        "second.py": second,
        "inner/__init__.py": "",
        "inner/third.py": "from package.first import A\nimport ast",
    }
    for name, source in files.items():
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    [circle] = circles(tmp_path / "package")
    assert {"package.first", "package.second"} <= circle


def long_functions(source: str) -> dict[str, int]:
    """Functions and methods (by name, decorators not counted) with too many lines, to their number."""
    found: dict[str, int] = {}
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                found[node.name] = lines
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_files_and_functions_are_read_in_one_sitting(package: str) -> None:
    too_long: dict[str, int] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        source, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        if len(source.splitlines()) > MOST_LINES_OF_A_FILE:
            too_long[name] = len(source.splitlines())
        too_long.update({f"{name}: {function}": lines for function, lines in long_functions(source).items()})
    assert not too_long


def test_a_long_function_is_found() -> None:
    body = "\n".join(["        pass"] * MOST_LINES_OF_A_FUNCTION)
    assert long_functions(f"class A:\n    @x\n    async def f():\n{body}\n") == {"f": MOST_LINES_OF_A_FUNCTION + 1}
    assert not long_functions(f"def f():\n{body.removesuffix('        pass')}\n")


LAYER = "rocketmq_selfbalance.fast_forward"
"""What skips quiet times: only RocketMQ's cluster knows it, when a run is not to be in full."""


@pytest.mark.parametrize("package", ["compare", "kafka_coordinator", "protocols", "rocketmq_selfbalance"])
def test_kernel_and_nodes_know_nothing_of_what_skips_quiet_times(package: str) -> None:
    naming = {
        str(path.relative_to(ROOT / package))
        for path in sorted((ROOT / package).rglob("*.py"))
        if "fast_forward" not in path.relative_to(ROOT).parent.parts and imports_the_layer(path)
    }
    assert naming == ({"cluster.py"} if package == "rocketmq_selfbalance" else set())


def imports_the_layer(path: Path) -> bool:
    """Whether the file imports one of the layer's modules, at any depth, or names one in a text."""
    for node in nodes(path.read_text(encoding="utf-8")):
        named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            named = [node.value]
        if any(name.startswith(LAYER) for name in named):
            return True
    return False


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from compare.cli import cli\n"
        "assert 'audit' in CliRunner().invoke(cli, ['--help']).output\n"
        "print([m for m in ('pyspark', 'pandas', 'numpy', 'networkx', 'pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
