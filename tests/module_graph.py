"""Who imports whom among the modules of one package, read from their source."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import networkx


@cache
def nodes(source: str) -> Sequence[ast.AST]:
    """The imports, functions and texts of a module, at any depth of its code. Kept, since many ask for the same; so the
    functions have no bodies."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]
    for node in found:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body.clear()
    return found


def import_graph(folder: Path) -> "networkx.DiGraph[str]":
    """Modules of the package in this folder, each with an edge to every module of the package that it imports: at its
    head, within a function, or for types only (``if TYPE_CHECKING``)."""
    files = {_module(path, folder.parent): path for path in sorted(folder.rglob("*.py"))}
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(files)
    for module, path in files.items():
        for imported in _imported(path.read_text(encoding="utf-8")):
            found = imported if imported in files else imported.rpartition(".")[0]
            if found in files and found != module:
                graph.add_edge(module, found)
    return graph


def circles(folder: Path) -> list[frozenset[str]]:
    """The sets of modules of a package of which each imports each other one, directly or through others."""
    return [
        frozenset(found) for found in networkx.strongly_connected_components(import_graph(folder)) if len(found) > 1
    ]


def _module(path: Path, root: Path) -> str:
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    return name.removesuffix(".__init__")


def _imported(source: str) -> Iterator[str]:
    """What is imported: modules, or names in them. `ValueError` for a relative import, which nobody writes."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"line {node.lineno}: a relative import, expected the whole name of the module")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
