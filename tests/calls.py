"""Work counted in calls of functions: the same on every machine, unlike time."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Calls:
    """Functions of Python and of C."""

    count: int = 0

    def heard(self, _: FrameType, event: str, __: object) -> None:
        self.count += event in ("call", "c_call")


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Calls from here on, without those of finalizers of what other tests have left."""
    calls = Calls()
    profiler = sys.getprofile()
    gc.collect()
    gc.disable()
    sys.setprofile(calls.heard)
    try:
        yield calls
    finally:
        sys.setprofile(profiler)
        gc.enable()


def calls_of(work: Callable[[], object]) -> int:
    with counted_calls() as calls:
        work()
    return calls.count
