"""confluent-kafka's classes replaced by doubles, wherever a program has imported them."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from compare.testing.confluent.rebinding import rebound
from protocols.errors import UserError
from protocols.named_modules import module_named

PACKAGE: Final = "confluent_kafka"
_HOMES: Final[Mapping[str, str]] = {"AdminClient": "admin"}
"""Name of a class to the module that has it, where that is not the package."""


def real_package(module: str = "") -> Any:
    """confluent-kafka, or a module of it. Raises `UserError` where it is not installed."""
    try:
        return module_named(f"{PACKAGE}.{module}" if module else PACKAGE)
    except ImportError:
        raise UserError("confluent-kafka is not installed: python -m pip install confluent-kafka") from None


@contextmanager
def replaced(doubles: Mapping[str, type]) -> Iterator[None]:
    """Every module's names of the real classes stand for these, and so do names of the program's own classes that were
    made from them (`rebound`); afterwards all is as before."""
    instead = {getattr(real_package(_HOMES.get(name, "")), name): double for name, double in doubles.items()}
    before: list[tuple[ModuleType, str, object]] = []
    try:
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not _ours(module):
                for name, value in list(vars(module).items()):
                    double = _double(value, instead) if isinstance(value, type) else None
                    if double is not None:
                        before.append((module, name, value))
                        setattr(module, name, double)
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)


def _ours(module: ModuleType) -> bool:
    """Our own modules keep what they know of the real classes."""
    return module.__name__.startswith(__name__.rpartition(".")[0])


def _double(value: type, instead: dict[type, type]) -> type | None:
    """What stands for a class; None for one that has nothing to do with confluent-kafka's."""
    if value in instead:
        return instead[value]
    if not any(each in instead for each in value.__mro__[1:]) or len(value.__bases__) != 1:
        return None
    if value.__module__.partition(".")[0] == PACKAGE:
        return None
    parent = _double(value.__bases__[0], instead)
    if parent is None:
        return None
    instead[value] = rebound(value, parent)
    return instead[value]
