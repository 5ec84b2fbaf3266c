"""Fairness figures on Spark, under the name that users import: `from compare import spark`, `import compare.spark`."""

from compare.measure.spark import (
    Snapshot,
    cv,
    fairness,
    figures_on_spark,
    gini,
    idle_members,
    jain,
    max_over_mean,
    progress,
    session,
    spread,
    theil,
    warm_up,
    write_snapshot,
)

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
