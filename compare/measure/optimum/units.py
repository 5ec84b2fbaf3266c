"""Weights as whole units, exactly: sums and comparisons of lags and rates without rounding."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, lcm
from numbers import Integral

from protocols import GroupError, Queue


@dataclass(frozen=True, slots=True)
class Units:
    """``of`` maps queues to whole units of ``size`` each; the units have no common divisor.

    ``whole``: all weights are whole numbers, and so are all sums.
    """

    of: Mapping[Queue, int]
    size: Fraction = Fraction(1)
    whole: bool = True

    def amount(self, units: int) -> float:
        """This many units in the weights' own measure: an int where all weights are whole, else the nearest float."""
        exact = units * self.size
        return int(exact) if self.whole else float(exact)


def in_units(weights: Mapping[Queue, float], queues: Iterable[Queue]) -> Units:
    """The weights of these queues in units; `GroupError` names a queue without weight or with an impossible one."""
    exact: dict[Queue, Fraction | int] = {}
    whole = True
    for queue in queues:
        weight = weights.get(queue)
        if weight is None:
            raise GroupError(f"{queue} has no weight: expected one for every queue of a subscribed topic")
        if isinstance(weight, Integral):
            exact[queue] = int(weight)
        elif isfinite(weight):
            exact[queue] = Fraction(float(weight))
            whole = False
        if exact.get(queue, -1) < 0:
            raise GroupError(f"{queue} has the weight {weight!r}, expected a number of 0 or more")
    parts = lcm(*(weight.denominator for weight in exact.values()))
    units = {queue: weight.numerator * (parts // weight.denominator) for queue, weight in exact.items()}
    common = gcd(*units.values()) or 1
    return Units({queue: number // common for queue, number in units.items()}, Fraction(common, parts), whole)
