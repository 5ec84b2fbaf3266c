"""Rules about the house that no linter has: circles of imports (for import-linter), the length of files and functions.

``python -m tools.house`` tells which files and functions are too long; `make check` runs it.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import networkx
from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

ROOT = Path(__file__).parents[1]
PRODUCT = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise")
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 400, 60


class NoCircles(Contract):
    """No module imports another that imports it, directly or through others, be it within a function or for types."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        ours = [module for module in graph.modules if not graph.is_module_squashed(module)]
        imports = ((module, other) for module in ours for other in graph.find_modules_directly_imported_by(module))
        found = circles(imports)
        return ContractCheck(kept=not found, metadata={"circles": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for circle in check.metadata["circles"]:
            output.print_error(f"each of these imports all others: {', '.join(circle)}")


def circles(imports: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The sets of modules of which each imports each other one, directly or through others."""
    graph: networkx.DiGraph[str] = networkx.DiGraph(imports)
    return sorted(sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1)


def too_long(name: str, source: str) -> Iterator[str]:
    """The module where it has too many lines, and its functions that have (decorators not counted)."""
    lines = len(source.splitlines())
    if lines > MOST_LINES_OF_A_FILE:
        yield f"{name}: {lines} lines, at most {MOST_LINES_OF_A_FILE}: divide the file"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines, at most {MOST_LINES_OF_A_FUNCTION}"


def main() -> int:
    files = [path for package in PRODUCT for path in sorted((ROOT / package).rglob("*.py"))]
    found = [line for path in files for line in too_long(str(path.relative_to(ROOT)), path.read_text("utf-8"))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
