"""Modules of ours by their name, for what is imported only when it is needed."""

from types import ModuleType


def module_named(name: str) -> ModuleType:
    """The module of one of our packages with this name; `ModuleNotFoundError` where there is none.

    Not ``importlib.import_module``: that takes any module of the name, while import statements of our modules, and
    with them ``__import__``, find ours also where the project around has a module of the name (`equipoise.finder`)."""
    return __import__(name, fromlist=["__name__"])
