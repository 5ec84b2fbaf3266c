"""Fairness figures (design: Figures)."""

from compare.measure.figures.definitions import NAMES as FIGURES
from compare.measure.figures.definitions import Figure
from compare.measure.figures.groups import counted_figures
from compare.measure.figures.of_allocation import Fairness, fairness
from compare.measure.figures.weights import GroupFigures, GroupLoads

__all__ = ["FIGURES", "Fairness", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "fairness"]
