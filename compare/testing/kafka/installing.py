"""Classes of a client library replaced by doubles, wherever a program has imported them."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def replaced(instead: Mapping[type, type]) -> Iterator[None]:
    """Every module's names of these classes stand for the doubles; afterwards all is as before. Classes of the
    program's own that were made from them stay what they are."""
    before: list[tuple[ModuleType, str, object]] = []
    ours = __name__.rpartition(".kafka.")[0]
    try:
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not module.__name__.startswith(ours):
                for name, value in list(vars(module).items()):
                    if isinstance(value, type) and value in instead:
                        before.append((module, name, value))
                        setattr(module, name, instead[value])
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)
