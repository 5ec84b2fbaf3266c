"""Figures of groups that are at hand as Python values: `audit`, notebooks, small jobs."""

from collections.abc import Sequence

from compare.measure.figures.plain import plain_figures
from compare.measure.figures.weights import GroupFigures, GroupLoads, overloaded_group, unit_of

_SMALL = 2000
"""Queues up to which numpy gains nothing, and need not be imported."""


def counted_figures(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """The figures of every group in the order given: by numpy where there is one and much to count, with the same
    digits as without.

    If the weight of any queue is no integer, weights are counted in millionths. Raises `UserError` for a weight below
    0, not finite or too large, and for weights of one member that add up to too much.
    """
    unit = unit_of(groups)
    if sum(len(group.rows) + group.members for group in groups) > _SMALL:
        try:
            from compare.measure.figures.numbered import numbered_figures
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
        else:
            return numbered_figures(groups, unit, lambda number: overloaded_group(number, unit))
    return plain_figures(groups, unit, lambda number: overloaded_group(number, unit))
