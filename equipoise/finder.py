"""How our modules are found beside modules of the same names: apart, under the names ``equipoise.*``.

A project may have a ``compare.py``, or a package ``protocols``. Python has one place for each name (``sys.modules``),
and that belongs to the project. So our modules live under names of their own, loaded from the folder in which we
are installed:

- `OurLoader` loads a module of ours as ``equipoise.compare.testing.group``, from its ordinary file and bytecode. What
  looks modules up by name (pickle, dataclasses, pydantic) meets no other module, in no other process either.
- Our modules call each other ``compare``, ``protocols``. Python runs every import statement, also one within a function
  that is called later, by ``__import__`` of the module's own ``__builtins__``. Those of our modules hold
  `import_ours`, which puts ``equipoise.`` in front of our names and nothing else.
- Whoever else says ``import compare`` gets the module of that name that is not ours, wherever it stands in
  ``sys.path``. Only where there is none `OurFinder` leads the name to ours: the same modules, the same classes.

Where our packages are there already under their ordinary names (our own command, ``-p compare.testing.plugin``),
nothing is loaded twice: ``equipoise.*`` leads to those.
"""

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from equipoise.names import DOOR, HOME, PACKAGES, is_a_home, is_ours

_SHORT, _LONG = f"{DOOR}.testing", f"{DOOR}.compare.testing"


def import_ours(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """``__import__`` as our modules see it: our packages' names mean ours."""
    first = name.partition(".")[0]
    if level or first not in PACKAGES:
        return builtins.__import__(name, globals, locals, fromlist, level)
    found = builtins.__import__(f"{DOOR}.{name}", globals, locals, fromlist)
    return found if fromlist else sys.modules[f"{DOOR}.{first}"]


_BUILTINS = {**vars(builtins), "__import__": import_ours}


class OurLoader(SourceFileLoader):
    """Loads a module of ours from its file; its import statements find ours."""

    def exec_module(self, module: ModuleType) -> None:
        """The module's code runs; also what it imports later is ours."""
        vars(module)["__builtins__"] = _BUILTINS
        super().exec_module(module)


class _Lead(Loader):
    """One more name of a module."""

    def __init__(self, target: str) -> None:
        self.target = target

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self.target)


class OurFinder(MetaPathFinder):
    """Finds our modules, under ``equipoise.`` and where nobody else has the name under their ordinary one.
    ``apart``: they are loaded under the former; else they are loaded under the latter."""

    def __init__(self, apart: bool) -> None:
        self.apart = apart

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None of a module that is not ours."""
        first, _, rest = fullname.partition(".")
        if first == DOOR:
            return self._through_the_door(fullname, rest)
        return self._from_outside(fullname, path) if self.apart and first in PACKAGES else None

    def _through_the_door(self, name: str, ordinary: str) -> ModuleSpec | None:
        if name == _SHORT or name.startswith(f"{_SHORT}."):
            return _leading(name, _LONG + name.removeprefix(_SHORT))
        if ordinary.partition(".")[0] not in PACKAGES:
            return None
        if not self.apart:
            return _leading(name, ordinary)
        spec = PathFinder.find_spec(name, [str(HOME.joinpath(*ordinary.split(".")[:-1]))])
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = OurLoader(spec.loader.name, spec.loader.path)
        return spec

    def _from_outside(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        first, _, rest = name.partition(".")
        ours = f"{DOOR}.{name}"
        if not rest:
            return (self._of_others(name) or _leading(name, ours)) if path is None else None
        parent = sys.modules.get(name.rpartition(".")[0])
        if parent is None:
            return None
        if parent.__name__.startswith(f"{DOOR}."):
            return _leading(name, ours)
        if not _is_plain_folder(getattr(sys.modules[first], "__spec__", None)):
            return None
        # As everywhere in Python, a module comes before a folder without __init__.py.
        found = PathFinder.find_spec(name, path)
        return _leading(name, ours) or found if found is None or _is_plain_folder(found) else found

    def _of_others(self, name: str) -> ModuleSpec | None:
        """The module of this name that would be there without us."""
        without_us = [entry for entry in sys.path if not is_a_home(Path(entry))]
        for finder in sys.meta_path:
            if finder is PathFinder:
                spec = PathFinder.find_spec(name, without_us)
            else:
                spec = None if isinstance(finder, OurFinder) else finder.find_spec(name, None)
            if spec is not None and not is_ours(spec):
                return spec
        return None


def _is_plain_folder(spec: ModuleSpec | None) -> bool:
    """Whether it is a folder without ``__init__.py``, of which nobody knows whose package it is meant to be."""
    if spec is None or spec.submodule_search_locations is None:
        return False
    return spec.origin is None or Path(spec.origin).is_dir()  # the latter where pytest has loaded it by its path


def _leading(name: str, target: str) -> ModuleSpec | None:
    """The name leads to the module of the other name; None where that does not exist."""
    found = find_spec(target)
    if found is None:
        return None
    return ModuleSpec(name, _Lead(target), origin=found.origin, is_package=found.submodule_search_locations is not None)


def install() -> None:
    """From now on our modules are found through the door. First of all finders, as that of pytest would load them from
    their ordinary files without us."""
    there = any(is_ours(getattr(sys.modules.get(name), "__spec__", None)) for name in PACKAGES)
    sys.meta_path.insert(0, OurFinder(apart=not there))
