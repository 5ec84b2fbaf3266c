"""The packages import in one direction only: compare -> the two systems -> protocols; files of one package in none
that leads back."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "protocols": set(),
    "kafka_coordinator": {"protocols"},
    "rocketmq_selfbalance": {"protocols"},
    "compare": {"protocols", "kafka_coordinator", "rocketmq_selfbalance"},
}
PACKAGES = [*MAY_IMPORT, "tests", "benchmarks"]


def imported_packages(source: str) -> set[str]:
    """Our own top-level packages that a module's text imports, at any depth of its code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Lazy imports name their module in a string.
            found.update({node.value.split(".")[0]} if "." in node.value and " " not in node.value else set())
    return found & set(PACKAGES)


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


ALLOWED_CIRCLES: Mapping[frozenset[str], str] = {
    frozenset(
        f"protocols.engine.{name}"
        for name in (
            *("alone", "catching_up", "flows", "lanes", "lines", "links"),
            *("lookout", "process", "rounds", "simulation", "streams"),
        )
    ): "the simulation skips quiet times itself: kernel, links and processes know the files that compute what is "
    "skipped, and these look into them; it opens when skipping becomes a layer outside the kernel",
}
"""Files of one package that import each other in a circle, with the reason. Types count: an import under TYPE_CHECKING
is one. A file may leave a circle, none may enter one."""


def modules(root: Path, package: str) -> dict[str, str]:
    """Dotted names of a package's files to their texts; a package's own is its ``__init__``."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def imported_modules(source: str, known: Iterable[str]) -> set[str]:
    """The known modules that a module's text imports, wherever it does; ``from package import name`` means the file
    ``name`` where there is one, else the package's own file."""
    there = set(known)
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in there else node.module for name in inside)
    return found & there


def circles(files: Mapping[str, str]) -> list[frozenset[str]]:
    """Files that import each other, each circle whole."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for name, source in files.items():
        graph.add_edges_from((name, other) for other in imported_modules(source, files) if other != name)
    return [frozenset(each) for each in networkx.strongly_connected_components(graph) if len(each) > 1]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_circle_of_files_but_those_with_a_reason(package: str) -> None:
    found = circles(modules(ROOT, package))
    new = [sorted(circle) for circle in found if not any(circle <= allowed for allowed in ALLOWED_CIRCLES)]
    assert new == []


def test_the_circles_that_are_allowed_are_still_there() -> None:
    """One that is open is to be taken off the list."""
    there = [circle for package in MAY_IMPORT for circle in circles(modules(ROOT, package))]
    for allowed, reason in ALLOWED_CIRCLES.items():
        assert any(circle <= allowed for circle in there), reason
        assert reason


def test_a_circle_is_found_also_where_only_types_are_imported() -> None:
    files = {
        "p": "from p.a import A",
        "p.a": "def f():\n    import p.b",
        "p.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.c import C",
        "p.c": "from p import a",
        "p.d": "from p.c import C",
    }
    assert circles(files) == [frozenset({"p.a", "p.b", "p.c"})]
    assert circles({**files, "p.c": "from q import a"}) == []


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
