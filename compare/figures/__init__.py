"""Figures, each defined once and exactly (docs/figures.md): of one group, of many at once by numpy, and the same digits
by Spark. `metrics` is the table of all metrics: path, heading, words, unit, what is better."""

from compare.figures.definitions import Figure
from compare.figures.metrics import NAMES as FIGURES
from compare.figures.of_groups import Fairness, GroupFigures, GroupLoads, counted_figures, fairness

__all__ = ["FIGURES", "Fairness", "Figure", "GroupFigures", "GroupLoads", "counted_figures", "fairness"]
