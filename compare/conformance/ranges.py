"""A recorded figure beside those of many runs of its scenario: it has to lie within what they reach.

The same for the recordings of both systems. A recording is one throw of the dice on a busy machine, so a range is
widened by what such a machine may do.
"""

from collections.abc import Sequence
from math import ceil, floor

from compare.conformance.cases import Measure

RUNS = 50
"""Seeds that a recording is compared with."""

NOISE_MS = 1200.0
NOISE_SHARE = 0.10
"""A recorded figure may lie outside of the runs' range by so much time, and by such a share of the limit."""


def widened(found: Sequence[float], noise: float) -> tuple[float, float]:
    """From least to most of what was found (at least one), widened by ``noise`` and by `NOISE_SHARE`; what is never
    negative does not become so."""
    low, high = min(found), max(found)
    least = low - noise - NOISE_SHARE * abs(low)
    return max(least, 0.0) if low >= 0 else least, high + noise + NOISE_SHARE * abs(high)


def within(
    case: str,
    quantity: str,
    real: float | None,
    found: Sequence[float],
    noise: float = NOISE_MS,
    *,
    whole: bool = False,
) -> Measure:
    """Whether the recorded value (None: there is none) lies within the range of the runs that have one.

    ``noise`` is in the unit of the quantity: milliseconds, or as many records as are produced in `NOISE_MS`, or 0.
    ``whole``: the quantity is counted, the limits are the next whole numbers outside.
    """
    if real is None or not found:
        return Measure(case, quantity, real, [min(found), max(found)] if found else None, None, False)
    low, high = widened(found, noise)
    if whole:
        low, high = floor(low), ceil(high)
    return Measure(case, quantity, real, [min(found), max(found)], [low, high], low <= real <= high)
