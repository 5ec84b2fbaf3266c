"""Fairness figures on Spark: over any number of groups, on this machine or a cluster.

from compare import spark
spark.fairness("ownership.parquet", "members.parquet").orderBy("jain").show()
"""

from compare.figures.spark.columns import cv, gini, idle_members, jain, max_over_mean, spread, theil
from compare.figures.spark.counting import fairness
from compare.figures.spark.groups import figures_on_spark
from compare.figures.spark.progress import progress
from compare.figures.spark.sessions import session, warm_up
from compare.figures.spark.snapshots import Snapshot, write_snapshot

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
