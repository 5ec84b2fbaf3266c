"""Fairness figures (design: Figures)."""

from collections.abc import Sequence

from compare.figures.counting import Figure, GroupFigures, GroupLoads, counted_figures
from compare.figures.definitions import NAMES as FIGURES

__all__ = ["FIGURES", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "figures_of"]


def figures_of(groups: Sequence[GroupLoads], engine: str = "local") -> list[GroupFigures]:
    """The figures of every group, in the order given; ``engine`` is ``local`` or ``spark``, with the same bytes."""
    return counted_figures(groups)
