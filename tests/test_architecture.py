"""The packages import in one direction only: compare -> the two systems -> protocols."""

import ast
import subprocess
import sys
from pathlib import Path

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


LAYERS = ("protocols.engine.fast_forward", "kafka_coordinator.fast_forward", "rocketmq_selfbalance.fast_forward")
MAY_SKIP = {
    "compare": set[str](),
    "kafka_coordinator": {"cluster.py"},
    "protocols": set[str](),
    "rocketmq_selfbalance": {"cluster.py"},
}
"""Of each package those outside of the layers who name them: clusters, when a run is not to be in full."""


@pytest.mark.parametrize("package", MAY_SKIP)
def test_kernel_and_nodes_know_nothing_of_what_skips_quiet_times(package: str) -> None:
    naming = {
        str(path.relative_to(ROOT / package))
        for path in sorted((ROOT / package).rglob("*.py"))
        if "fast_forward" not in path.relative_to(ROOT).parent.parts and imports_a_layer(path)
    }
    assert naming == MAY_SKIP[package]


def imports_a_layer(path: Path) -> bool:
    """Whether the file imports one of the layers' modules, at any depth, or names one in a text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            named = [node.value]
        if any(name.startswith(LAYERS) for name in named):
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
