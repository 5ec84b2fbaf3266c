"""Fairness figures (design: Figures)."""

from compare.figures.definitions import Figure
from compare.figures.metrics import NAMES as FIGURES
from compare.figures.of_groups import Fairness, counted_figures, fairness
from compare.figures.weights import GroupFigures, GroupLoads

__all__ = ["FIGURES", "Fairness", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "fairness"]
