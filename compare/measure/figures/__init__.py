"""Fairness figures (design: Figures)."""

from compare.measure.figures.definitions import NAMES as FIGURES
from compare.measure.figures.groups import Figure, GroupFigures, GroupLoads, counted_figures
from compare.measure.figures.of_allocation import Fairness, fairness

__all__ = ["FIGURES", "Fairness", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "fairness"]
