"""Fairness figures (design: Figures)."""

from collections.abc import Sequence

from compare.measure.figures.definitions import NAMES as FIGURES
from compare.measure.figures.groups import Figure, GroupFigures, GroupLoads, counted_figures
from compare.measure.figures.of_allocation import Fairness, fairness

__all__ = ["FIGURES", "Fairness", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "fairness", "figures_of"]


def figures_of(groups: Sequence[GroupLoads], engine: str = "local") -> list[GroupFigures]:
    """The figures of every group, in the order given; ``engine`` is ``local`` or ``spark``, with the same bytes."""
    if engine == "spark":
        from compare.measure.spark import figures_on_spark

        return figures_on_spark(groups)
    return counted_figures(groups)
