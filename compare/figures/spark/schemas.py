"""The columns of the answer."""

from collections.abc import Iterable

from pyspark.sql.types import DataType, DoubleType, LongType, StringType, StructField, StructType

from compare.figures.metrics import COUNTS, NAMES


def figures_schema(keys: Iterable[tuple[str, DataType]], per_topic: bool) -> StructType:
    """The key columns, ``topic`` if asked for, counts as bigint, the other figures as double."""
    named = [StructField(name, type) for name, type in keys]
    if per_topic:
        named.append(StructField("topic", StringType()))
    return StructType(named + [StructField(name, LongType() if name in COUNTS else DoubleType()) for name in NAMES])
