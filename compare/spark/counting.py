"""`fairness` on Spark: what members own is added up natively, each group's figures by the kernel of every engine.

One shuffle brings a group's rows together; Spark adds them up per owner, topic and word of 64 queues (integers only);
the tasks hand the sums to `compare.figures.local.fairness_of_shares`.
"""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike, fspath
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import FractionalType, IntegralType, StringType

from compare.figures.definitions import MILLIONTHS
from compare.figures.local import fairness_of_shares, queue_column, require, weight_column
from compare.spark import snapshots
from compare.spark.schemas import figures_schema
from compare.spark.sessions import session
from protocols.errors import UserError
from rocketmq_selfbalance.codes import RETRY_PREFIX

Source: TypeAlias = DataFrame | str | PathLike[str]
"""A DataFrame, or the path of a Parquet file or folder."""


def fairness(
    ownership: Source,
    members: Source,
    *,
    weight: str | None = None,
    with_retry: bool = False,
    per_topic: bool = False,
) -> DataFrame:
    """The figures of every group, computed when an action asks for them.

    ``ownership``: one row per queue and owner with the columns ``run`` (optional), ``group``, ``topic``, ``broker``
    (optional), ``queue`` (or ``number``, ``partition``), ``owner`` (null: nobody's), ``weight`` (optional).
    ``members``: one row per member with ``run`` (if ownership has it), ``group``, ``member``. An owner is a member
    whether listed or not. ``weight`` names another column to weigh by; integers are exact, decimals are counted in
    millionths, null makes the figures of load null.

    Returns one row per group: ``run``, ``group``, counts (bigint) and the other figures (double, null where
    undefined). ``per_topic`` adds the column ``topic`` and one row per topic of a group; ``topic`` is null in the rows
    of whole groups. ``%RETRY%`` topics count only ``with_retry``.

    Paths of a snapshot written by `write_snapshot` are computed file by file, without a shuffle. Raises `UserError`
    for a missing column; bad weights and queues listed twice for one owner fail the job.
    """
    if not isinstance(ownership, DataFrame) and not isinstance(members, DataFrame):
        parts = snapshots.recognised(fspath(ownership), fspath(members))
        if parts is not None and weight is None:
            return snapshots.fairness_of_parts(session(), parts, with_retry=with_retry, per_topic=per_topic)
    ownership, members = _frame(ownership), _frame(members)
    shares, keys, unit = shares_of(ownership, members, weight, with_retry)
    schema = figures_schema([(key, shares.schema[key].dataType) for key in keys], per_topic)
    counted = (
        shares.repartition(*keys)
        .groupBy(*keys, "topic", "broker", "word", "owner")
        .agg(
            F.sum("load").alias("load"),
            F.bit_or("bits").alias("bits"),
            F.count("*").alias("rows"),
            F.bool_or("unknown").alias("unknown"),
        )
    )
    return counted.mapInArrow(_kernel(keys, unit, per_topic), schema)


def shares_of(
    ownership: DataFrame, members: DataFrame, weight: str | None, with_retry: bool
) -> tuple[DataFrame, list[str], int]:
    """Both tables as shares (see `fairness_of_shares`) not yet added up, the key columns, the load of weight 1."""
    keys = ["run", "group"] if "run" in ownership.columns else ["group"]
    require("ownership", ownership.columns, [*keys, "topic", "owner"])
    require("members", members.columns, [*keys, "member"])
    weight = weight_column(ownership.columns, weight)
    broker, number = _queue(ownership)
    topic = F.col("topic")
    load, unknown, unit = _load(ownership, weight)
    key_columns = [F.col(key) for key in keys]
    owned = ownership.select(
        *key_columns,
        (topic if with_retry else F.when(~F.startswith(topic, F.lit(RETRY_PREFIX)), topic)).alias("topic"),
        broker.alias("broker"),
        F.shiftright(number, 6).alias("word"),
        F.col("owner").alias("owner"),
        load.alias("load"),
        _bit(number).alias("bits"),
        unknown.alias("unknown"),
    )
    listed = members.select(
        *key_columns,
        F.lit(None).cast("string").alias("topic"),
        F.lit("").alias("broker"),
        F.lit(0).cast("long").alias("word"),
        F.col("member").alias("owner"),
        F.lit(0).cast("long").alias("load"),
        F.lit(0).cast("long").alias("bits"),
        F.lit(False).alias("unknown"),
    )
    return owned.unionByName(listed), keys, unit


def _kernel(
    keys: list[str], unit: int, per_topic: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def figures(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if received:
            table = pa.Table.from_batches(received)
            yield from fairness_of_shares(table, keys, unit=unit, per_topic=per_topic).to_batches()

    return figures


def _frame(source: Source) -> DataFrame:
    return source if isinstance(source, DataFrame) else session().read.parquet(fspath(source))


def _queue(ownership: DataFrame) -> tuple[Column, Column]:
    name = queue_column(ownership.columns)
    queue = F.col(name)
    broker = F.col("broker") if "broker" in ownership.columns else F.lit("")
    kind = ownership.schema[name].dataType
    if isinstance(kind, IntegralType):
        return broker, queue.cast("long")
    # A queue that is a text or a record of its own is a broker with one queue.
    text = queue.cast("string") if isinstance(kind, StringType) else F.to_json(queue)
    return F.concat_ws("\0", broker, text), F.lit(0).cast("long")


def _bit(number: Column) -> Column:
    return F.call_function("shiftleft", F.lit(1).cast("long"), number.bitwiseAND(F.lit(63).cast("long")).cast("int"))


def _load(ownership: DataFrame, weight: str | None) -> tuple[Column, Column, int]:
    if weight is None:
        return F.lit(1).cast("long"), F.lit(False), 1
    column = F.col(weight)
    # Nobody's queues weigh on nobody.
    unknown = column.isNull() & F.col("owner").isNotNull()
    kind = ownership.schema[weight].dataType
    if isinstance(kind, IntegralType):
        known, unit = column.cast("long"), 1
    elif isinstance(kind, FractionalType):
        known, unit = F.rint(column.cast("double") * float(MILLIONTHS)), MILLIONTHS
    else:
        raise UserError(f"column {weight!r} of ownership holds {kind.simpleString()}, expected numbers to weigh by")
    checked = F.when(known < 0, F.raise_error("a weight is negative, expected 0 or more")).otherwise(known)
    return F.coalesce(checked.cast("long"), F.lit(0).cast("long")), unknown, unit
