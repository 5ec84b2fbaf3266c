"""`fairness` on Spark: what members own is added up natively, each group's figures by the kernel of every engine.

One shuffle brings a group's rows together; Spark adds them up per owner, topic and word of 64 queues (integers only);
the tasks hand the sums to `compare.measure.figures.local.fairness_of_shares`.
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DoubleType, FloatType, FractionalType, IntegralType, StructType

from compare.measure.figures.definitions import MILLIONTHS
from compare.measure.figures.local import fairness_of_shares
from compare.measure.figures.shapes import Columns
from compare.measure.spark import snapshots
from compare.measure.spark.faults import checked_key, counted, fail, named, row_fault
from compare.measure.spark.schemas import figures_schema
from compare.measure.spark.sessions import session
from compare.measure.spark.sources import Source, columns_of_frames, frames, path_of
from rocketmq_selfbalance.codes import RETRY_PREFIX


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

    Paths of a snapshot written by `write_snapshot` are computed file by file, without a shuffle.

    Raises `UserError` here and now for what the schema shows: a path that cannot be read, a column that is missing or
    of another type (`figures.shapes`). What only rows show fails the job when an action runs it, in Spark's
    exception with one sentence that names column and group: null instead of a queue, a topic, a group or a run;
    numbers that are negative, NaN, or 2^62 and more; weights of one member that add up to as much; queues listed twice
    for one owner.
    """
    if not isinstance(ownership, DataFrame) and not isinstance(members, DataFrame):
        parts = snapshots.recognised(path_of("ownership", ownership), path_of("members", members))
        if parts is not None and weight is None:
            return snapshots.fairness_of_parts(session(), parts, with_retry=with_retry, per_topic=per_topic)
    ownership, members = frames(ownership, members)
    columns = columns_of_frames(ownership, members, weight)
    shares, unit = shares_of(ownership, members, columns, with_retry)
    keys = columns.keys
    schema = figures_schema([(key, shares.schema[key].dataType) for key in keys], per_topic)
    added_up = (
        shares.repartition(*keys)
        .groupBy(*keys, "topic", "broker", "word", "owner")
        .agg(
            # Null where the sum passes 2^63, whatever the ANSI mode; the kernel says whose it is.
            F.try_sum("load").alias("load"),
            F.bit_or("bits").alias("bits"),
            F.count("*").alias("rows"),
            F.bool_or("unknown").alias("unknown"),
        )
    )
    return added_up.mapInArrow(_kernel(columns, unit, per_topic), schema)


def shares_of(ownership: DataFrame, members: DataFrame, columns: Columns, with_retry: bool) -> tuple[DataFrame, int]:
    """Both tables as shares (see `fairness_of_shares`) not yet added up, and the load of weight 1."""
    broker, number = _queue(ownership, columns.queue)
    topic = named("topic").cast("string")
    load, unknown, unit = _load(ownership, columns)
    owned = ownership.select(
        *(checked_key(ownership, key, columns.keys, "ownership").alias(key) for key in columns.keys),
        (topic if with_retry else F.when(~F.startswith(topic, F.lit(RETRY_PREFIX)), topic)).alias("topic"),
        broker.alias("broker"),
        F.shiftright(number, 6).alias("word"),
        named("owner").alias("owner"),
        load.alias("load"),
        _bit(number).alias("bits"),
        unknown.alias("unknown"),
    )
    listed = members.select(
        *(checked_key(members, key, columns.keys, "members").alias(key) for key in columns.keys),
        F.lit(None).cast("string").alias("topic"),
        F.lit("").alias("broker"),
        F.lit(0).cast("long").alias("word"),
        named("member").alias("owner"),
        F.lit(0).cast("long").alias("load"),
        F.lit(0).cast("long").alias("bits"),
        F.lit(False).alias("unknown"),
    )
    return owned.unionByName(listed), unit


def _kernel(
    columns: Columns, unit: int, per_topic: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def figures(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if received:
            table = pa.Table.from_batches(received)
            yield from fairness_of_shares(table, columns, unit=unit, per_topic=per_topic).to_batches()

    return figures


def _queue(ownership: DataFrame, name: str) -> tuple[Column, Column]:
    queue = named(name)
    broker = named("broker").cast("string") if "broker" in ownership.columns else F.lit("")
    kind = ownership.schema[name].dataType
    if isinstance(kind, IntegralType):
        return broker, queue.cast("long")
    # A queue that is a text or a record of its own is a broker with one queue.
    text = F.to_json(queue) if isinstance(kind, StructType) else queue.cast("string")
    return F.concat(F.coalesce(broker, F.lit("")), F.lit("\0"), text), F.lit(0).cast("long")


def _bit(number: Column) -> Column:
    return F.call_function("shiftleft", F.lit(1).cast("long"), number.bitwiseAND(F.lit(63).cast("long")).cast("int"))


def _load(ownership: DataFrame, columns: Columns) -> tuple[Column, Column, int]:
    """The load of a row, which fails the job where the row says what none may; is the weight unknown?; the unit."""
    is_owned = named("owner").isNotNull()
    is_numbered = isinstance(ownership.schema[columns.queue].dataType, IntegralType)
    if columns.weight is None:
        fault = row_fault(columns, 1, weight_may_be_nan=False, is_numbered=is_numbered)
        return F.when(fault.isNotNull(), fail(fault).cast("long")).otherwise(F.lit(1).cast("long")), F.lit(False), 1
    weight, kind = named(columns.weight), ownership.schema[columns.weight].dataType
    unit = MILLIONTHS if isinstance(kind, FractionalType) else 1
    is_float = isinstance(kind, FloatType | DoubleType)
    fault = row_fault(columns, unit, weight_may_be_nan=is_float, is_numbered=is_numbered)
    known = weight if unit == 1 else counted(weight, unit)
    # Nobody's queues weigh on nobody.
    load = F.when(fault.isNotNull(), fail(fault).cast("long")).when(is_owned & weight.isNotNull(), known.cast("long"))
    return load.otherwise(F.lit(0).cast("long")), weight.isNull() & is_owned, unit
