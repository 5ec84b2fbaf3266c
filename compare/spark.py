"""Fairness figures on Spark: over any number of groups, on this machine or a cluster.

from compare import spark
spark.fairness("ownership.parquet", "members.parquet").orderBy("jain").show()

The figures are integer sums per group, from which the same code as elsewhere makes the digits, so that Spark, numpy
and one group in memory agree to the last bit.
"""

from compare.figures.spark.columns import cv, gini, idle_members, jain, max_over_mean, spread, theil
from compare.figures.spark.counting import Snapshot, fairness, figures_on_spark, write_snapshot
from compare.figures.spark.sessions import progress, session, warm_up

__all__ = [
    "Snapshot",
    "cv",
    "fairness",
    "figures_on_spark",
    "gini",
    "idle_members",
    "jain",
    "max_over_mean",
    "progress",
    "session",
    "spread",
    "theil",
    "warm_up",
    "write_snapshot",
]
