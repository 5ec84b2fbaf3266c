"""Python's search for reference cycles, paused while nearly all that is made lives on anyway."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cycle_search() -> Iterator[None]:
    """Nothing is searched in this block: what goes in it goes at once with its last reference, and cycles stay until a
    later search. May be nested."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()
