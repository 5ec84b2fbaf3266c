"""A package's names replaced by doubles, wherever a program has imported them; also of a package that is not there."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def replaced(doubles: Mapping[str, Mapping[str, object]]) -> Iterator[None]:
    """``doubles``: name of a module to its names that stand for others now, in it and in every module that has imported
    the real classes by name. A module that cannot be imported is made, with its packages. Afterwards all is as before.
    """
    made: list[str] = []
    before: list[tuple[ModuleType, str, object]] = []
    try:
        for home, names in doubles.items():
            module = _module(home, made)
            real = {id(getattr(module, name)): name for name in names if hasattr(module, name)}
            for each in [module, *(each for each in list(sys.modules.values()) if isinstance(each, ModuleType))]:
                for name, value in [] if each.__name__.startswith("compare.") else list(vars(each).items()):
                    if id(value) in real and isinstance(value, type):
                        before.append((each, name, value))
                        setattr(each, name, names[real[id(value)]])
            for name in names.keys() - real.values():
                setattr(module, name, names[name])
        yield
    finally:
        for each, name, value in reversed(before):
            setattr(each, name, value)
        for home in made:
            sys.modules.pop(home, None)


def _module(home: str, made: list[str]) -> ModuleType:
    """The module, or an empty one of its name."""
    try:
        return importlib.import_module(home)
    except ImportError:
        parts = home.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if name not in sys.modules:
                made.append(name)
                sys.modules[name] = ModuleType(name)
                sys.modules[name].__path__ = []
            if length > 1:
                setattr(sys.modules[".".join(parts[: length - 1])], parts[length - 1], sys.modules[name])
        return sys.modules[home]
