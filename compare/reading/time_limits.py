"""How long a running cluster is waited for: for everything together, and for a single answer."""

import time

TIMEOUT_S = 30.0
"""Seconds that reading one cluster may take, unless the user says otherwise."""

_ANSWERS = 3


def answer_s(timeout_s: float) -> float:
    """The longest wait for a single answer where the whole reading may take ``timeout_s``: a third, so that one server
    that is silent does not take all others' time."""
    return timeout_s / _ANSWERS


def end_of(timeout_s: float) -> float:
    """When a reading that begins now has to be over, by `time.monotonic`."""
    return time.monotonic() + timeout_s


def left_s(ends: float) -> float:
    """Seconds until then, 0 afterwards."""
    return max(ends - time.monotonic(), 0.0)


def seconds(value: float) -> str:
    """Seconds for people."""
    return f"{round(value, 2):g} s"
