"""Durations, rates and latencies as people write them."""

import re

from protocols.nodes import TICK

_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)\s*")
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|min|h)\s*")


def milliseconds(given: object) -> float:
    """``5s``, ``300ms``, ``2min``, ``1.5h`` in milliseconds, rounded to the simulation's ticks.

    A number is taken as milliseconds where a program gives it (a float); raises `ValueError` for anything else.
    """
    if isinstance(given, float) and given >= 0:
        return round(given / TICK) * TICK
    match = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        if given == 0 and not isinstance(given, bool):
            return 0.0
        raise ValueError(f"{given!r} is no duration, expected a number with a unit such as 5s, 300ms or 2min")
    return round(float(match[1]) * _MILLISECONDS[match[2]] / TICK) * TICK


def per_second(given: object) -> float:
    """``10/s``, ``600/min`` per second; a float is taken as it is. Raises `ValueError` for anything else."""
    if isinstance(given, float) and given >= 0:
        return given
    match = _RATE.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{given!r} is no rate, expected a number per time such as 10/s or 600/min")
    return float(match[1]) * 1000 / _MILLISECONDS[match[2]]


def latency_of(given: object) -> tuple[float, float]:
    """``2ms`` or ``1ms..5ms`` as least and most, in milliseconds. Raises `ValueError` for anything else."""
    if isinstance(given, tuple) and len(given) == 2:
        least, most = milliseconds(given[0]), milliseconds(given[1])
    elif isinstance(given, str):
        parts = given.split("..")
        if len(parts) > 2:
            raise ValueError(f"{given!r} is no latency, expected one such as 2ms or 1ms..5ms")
        least, most = milliseconds(parts[0]), milliseconds(parts[-1])
    else:
        raise ValueError(f"{given!r} is no latency, expected one such as 2ms or 1ms..5ms")
    if least > most:
        raise ValueError(f"latency {given!r}: the least is more than the most")
    return least, most
