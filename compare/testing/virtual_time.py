"""Virtual time for the code under test: what asks Python for the time, or sleeps, gets the clock of its group.

In reach are ``time.time``, ``monotonic``, ``perf_counter`` (and their ``_ns``), ``time.sleep``, ``datetime.now``,
``utcnow``, ``today``, ``date.today``: as attributes of their modules, and as names that the user's modules have
imported from them. Only the thread that entered the context is meant; other threads keep the real time. Out of reach
are waits that Python makes in C or under names of its own: ``threading.Timer``, ``Condition.wait``,
``queue.get(timeout=)``, ``select``; and asyncio.
"""

import datetime as datetime_module
import sys
import sysconfig
import threading
import time as time_module
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta, tzinfo
from types import ModuleType
from typing import Any, Protocol

from protocols.engine.nodes import Time

LOOKS = 1000
"""So often the code may look at the clock while no time passes; then a millisecond does: code that waits in a loop for
a time to come ends as well."""

_REAL = {name: getattr(time_module, name) for name in ("time", "monotonic", "perf_counter", "sleep")}
_REAL_NS = {name: getattr(time_module, name) for name in ("time_ns", "monotonic_ns", "perf_counter_ns")}
_NOT_THE_USERS = ("compare", "equipoise", "hypothesis", "_pytest", "pytest", "pluggy", "execnet", "xdist", "coverage")


class PassingTime(Protocol):
    """A clock that lets time pass while user's code waits: `compare.testing.clock.Clock`."""

    time: Time

    def pass_for_user(self, duration: Time) -> None:
        """Let so many milliseconds pass."""


class VirtualTime:
    """The time of a clock as Python's functions tell it: 0 s, when the clock begins, is the beginning of 1970, as in
    the timestamps of records."""

    def __init__(self, clock: PassingTime) -> None:
        self._clock = clock
        self._thread = threading.get_ident()
        self._looks, self._looked_at = 0, -1.0

    def _is_mine(self) -> bool:
        return threading.get_ident() == self._thread

    def _now(self) -> float:
        """Seconds."""
        clock = self._clock
        self._looks = self._looks + 1 if clock.time == self._looked_at else 0
        if self._looks > LOOKS:
            self._looks = 0
            clock.pass_for_user(1.0)
        self._looked_at = clock.time
        return clock.time / 1000

    def _sleep(self, seconds: float) -> None:
        """Let time pass for every group, and for the timeouts that count how long the code takes."""
        if not self._is_mine():
            _REAL["sleep"](seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self._clock.pass_for_user(seconds * 1000)

    def functions(self) -> dict[Callable[..., object], Callable[..., object]]:
        """Each real function to the one that stands for it."""
        functions: dict[Callable[..., object], Callable[..., object]] = {_REAL["sleep"]: self._sleep}
        for name in ("time", "monotonic", "perf_counter"):
            functions[_REAL[name]] = self._teller(_REAL[name], 1)
            functions[_REAL_NS[f"{name}_ns"]] = self._teller(_REAL_NS[f"{name}_ns"], 1_000_000_000)
        return functions

    def _teller(self, real: Callable[[], float], factor: int) -> Callable[[], float]:
        def told() -> float:
            if not self._is_mine():
                return real()
            now = self._now()
            return now if factor == 1 else round(now * factor)

        told.__name__ = told.__qualname__ = getattr(real, "__name__", "time")
        return told

    def classes(self) -> dict[type, type]:
        """The same of classes; their instances are ordinary ones."""

        def now(zone: tzinfo | None = None) -> datetime:
            if not self._is_mine():
                return datetime.now(zone)
            return (datetime.fromtimestamp(0, datetime_module.UTC) + timedelta(seconds=self._now())).astimezone(zone)

        class OfReal(type):
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, cls.__mro__[1])

            def __subclasscheck__(cls, subclass: type) -> bool:
                return issubclass(subclass, cls.__mro__[1])

        class VirtualDatetime(datetime, metaclass=OfReal):
            def __new__(cls, *given: Any, **more: Any) -> Any:
                return datetime(*given, **more)

            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return now(tz) if tz is not None else now().replace(tzinfo=None)

            @classmethod
            def utcnow(cls) -> Any:
                return now(datetime_module.UTC).replace(tzinfo=None)

            @classmethod
            def today(cls) -> Any:
                return now().replace(tzinfo=None)

        class VirtualDate(date, metaclass=OfReal):
            def __new__(cls, *given: Any, **more: Any) -> Any:
                return date(*given, **more)

            @classmethod
            def today(cls) -> Any:
                return now().date()

        return {datetime: VirtualDatetime, date: VirtualDate}


@contextmanager
def virtual_time(clock: PassingTime, modules: Iterable[ModuleType] = ()) -> Iterator[None]:
    """As long as this lasts, the code under test lives in the time of the clock. ``modules``: further ones whose
    imported names are meant, such as an installed package; those of the project and of the tests are known."""
    virtual = VirtualTime(clock)
    stand_ins: dict[int, object] = {id(real): function for real, function in virtual.functions().items()}
    stand_ins |= {id(real): each for real, each in virtual.classes().items()}
    changed: list[tuple[ModuleType, str, object]] = []
    try:
        for module in [time_module, datetime_module, *_of_the_user(), *modules]:
            for name, value in list(vars(module).items()):
                if id(value) in stand_ins and value is not None:
                    changed.append((module, name, value))
                    setattr(module, name, stand_ins[id(value)])
        yield
    finally:
        for module, name, value in reversed(changed):
            setattr(module, name, value)


def _of_the_user() -> Iterator[ModuleType]:
    """Modules that stand neither among Python's own nor among installed packages."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        known = name.partition(".")[0] in _NOT_THE_USERS and not name.startswith("equipoise_examples")
        if isinstance(module, ModuleType) and path and not known and not path.startswith(tuple(paths)):
            yield module
