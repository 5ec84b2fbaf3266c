"""Modules of ours by their name, and packages that hand out names of their modules: imported only when needed."""

import ast
import linecache
import sys
from collections.abc import Callable
from types import ModuleType


def module_named(name: str) -> ModuleType:
    """The module of one of our packages with this name; `ModuleNotFoundError` where there is none.

    Not ``importlib.import_module``: that takes any module of the name, while import statements of our modules, and
    with them ``__import__``, find ours also where the project around has a module of the name (`equipoise.finder`)."""
    return __import__(name, fromlist=["__name__"])


def lazy_names(package: str) -> Callable[[str], object]:
    """A package's ``__getattr__``: the names that it imports under ``if TYPE_CHECKING`` are imported when first
    used, so that who needs one of them does not wait for all. Type checkers and contracts read the same block."""
    door = sys.modules[package]
    # From a file or a zip file, whoever loads it.
    source = "".join(linecache.getlines(door.__file__ or "", vars(door)))
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inner = homes[name]
        # Of the package itself only modules are handed out: to ask it for the name would come back here.
        holder = None if module == package else module_named(module)
        value = getattr(holder, inner) if hasattr(holder, inner) else module_named(f"{module}.{inner}")
        setattr(sys.modules[package], name, value)
        return value

    return attribute
