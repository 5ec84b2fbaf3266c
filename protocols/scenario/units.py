"""Durations, rates and latencies as people write them."""

import re
from math import isfinite

from protocols.engine.nodes import TICK

_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_NUMBER = r"\s*([+-]?)\s*(\d+(?:\.\d+)?)\s*"
_DURATION = re.compile(_NUMBER + r"(us|ms|s|min|h|d)\s*", re.ASCII)
_RATE = re.compile(_NUMBER + r"/\s*(s|min|h)\s*", re.ASCII)
_BARE = re.compile(_NUMBER, re.ASCII)

_IN_SECONDS = 10_000.0
"""Milliseconds from which on what is no whole number of seconds is written in seconds, too."""

LONGEST = 2.0**42
"""Milliseconds, some 139 years: up to here every sum of two times is exact."""


class Bare(float):
    """A number that somebody wrote without a unit where it may need one: `milliseconds` and `per_second` refuse it."""


def milliseconds(given: object) -> float:
    """``5s``, ``300ms``, ``2min``, ``1.5h`` in milliseconds, rounded to the simulation's ticks.

    A number is taken as milliseconds where a program gives it (a float); raises `ValueError` for anything else.
    """
    if isinstance(given, float) and not isinstance(given, Bare):
        return _ticks(given, given)
    if given == 0 and not isinstance(given, bool):
        return 0.0
    match = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{_problem(given, 'duration')}, expected a number with a unit such as 5s, 300ms or 2min")
    return _ticks(float(match[1] + match[2]) * _MILLISECONDS[match[3]], given)


def per_second(given: object) -> float:
    """``10/s``, ``600/min`` per second; a float is taken as it is. Raises `ValueError` for anything else."""
    if isinstance(given, float) and not isinstance(given, Bare):
        return _positive(given, given)
    if given == 0 and not isinstance(given, bool):
        return 0.0
    match = _RATE.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{_problem(given, 'rate')}, expected a number per time such as 10/s or 600/min")
    return _positive(float(match[1] + match[2]) * 1000 / _MILLISECONDS[match[3]], given)


def latency_of(given: object) -> tuple[float, float]:
    """``2ms`` or ``1ms..5ms`` as least and most, in milliseconds. Raises `ValueError` for anything else."""
    if isinstance(given, tuple | list) and len(given) == 2:
        least, most = milliseconds(given[0]), milliseconds(given[1])
    elif isinstance(given, str) and given.count("..") <= 1:
        parts = given.split("..")
        least, most = milliseconds(parts[0]), milliseconds(parts[-1])
    else:
        raise ValueError(f"{_problem(given, 'latency')}, expected one such as 2ms or 1ms..5ms")
    if least > most:
        raise ValueError(f"{given!r} is no latency: the least is more than the most")
    return least, most


def duration_text(given: float) -> str:
    """Milliseconds as people write them, as a whole number where one is handy: ``90s``, ``5min``, ``211.027s``."""
    for unit in ("h", "min", "s"):
        if given and given % _MILLISECONDS[unit] == 0 and (unit == "s" or given >= 5 * _MILLISECONDS[unit]):
            return f"{given / _MILLISECONDS[unit]:.0f}{unit}"
    if given >= _IN_SECONDS:
        return f"{given / 1000:.6f}".rstrip("0") + "s"
    return f"{given:g}ms" if given else "0s"


def _ticks(value: float, given: object) -> float:
    if value > LONGEST:
        raise ValueError(f"{given!r} is too long, expected a duration of at most 100 years")
    return round(_positive(value, given) / TICK) * TICK


def _positive(value: float, given: object) -> float:
    if not isfinite(value):
        raise ValueError(f"{given!r} is no finite number")
    if value < 0:
        raise ValueError(f"{given!r} is negative, expected 0 or more")
    return value


def _problem(given: object, kind: str) -> str:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if number or (isinstance(given, str) and _BARE.fullmatch(given)):
        return f"{given} has no unit"
    return f"{given!r} is no {kind}"
