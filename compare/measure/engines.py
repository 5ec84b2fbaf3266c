"""The engines that count figures: numpy on this machine, or Spark; both give the same bytes."""

from collections.abc import Sequence

from compare.measure.figures import GroupFigures, GroupLoads, counted_figures


def figures_of(groups: Sequence[GroupLoads], engine: str = "local") -> list[GroupFigures]:
    """The figures of every group, in the order given; ``engine`` is ``local`` or ``spark``, with the same bytes."""
    if engine == "spark":
        from compare.measure.spark.groups import figures_on_spark

        return figures_on_spark(groups)
    return counted_figures(groups)
