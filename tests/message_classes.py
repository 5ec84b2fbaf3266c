"""The message classes of a module, for tests that hold each of them against the wire."""

from types import ModuleType
from typing import Any


def message_classes(*modules: ModuleType) -> list[type[Any]]:
    """The named tuples that these modules define themselves, in the order in which they stand there."""
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and hasattr(each, "_fields")
    ]
