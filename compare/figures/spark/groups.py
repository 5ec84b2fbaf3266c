"""Figures of groups that are at hand as Python values, computed on Spark: the same bytes as the numpy engine."""

from collections.abc import Sequence

import pyarrow as pa

from compare.figures.metrics import NAMES
from compare.figures.numbered import records
from compare.figures.shapes import MOST
from compare.figures.spark.counting import fairness
from compare.figures.spark.failures import user_errors
from compare.figures.spark.progress import progress
from compare.figures.spark.sessions import session
from compare.figures.weights import GroupFigures, GroupLoads, load_of, overloaded_group, unit_of


def figures_on_spark(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """As `counted_figures`, errors included, by one Spark job with a progress bar."""
    unit = unit_of(groups)
    _check(groups, unit)
    spark = session()
    ownership, members = _tables(groups, unit)
    figures = fairness(
        spark.createDataFrame(ownership), spark.createDataFrame(members), with_retry=True, per_topic=True
    )
    with progress(spark, f"judging {len(groups)} groups on Spark"), user_errors():
        table = figures.toArrow()
    table = table.sort_by([("group", "ascending"), ("topic", "ascending")])
    found = [GroupFigures({}, {}) for _ in groups]
    keys = zip(table["group"].to_pylist(), table["topic"].to_pylist(), strict=True)
    columns = {name: table[name].to_numpy() for name in NAMES}
    for (group, topic), record in zip(keys, records(columns), strict=True):
        if topic is None:
            found[group].overall.update(record)
        else:
            found[group].topics[topic] = record
    return found


def _check(groups: Sequence[GroupLoads], unit: int) -> None:
    """The errors of the numpy engine, which numbers groups as the caller does."""
    for number, group in enumerate(groups):
        sums = [0] * group.members
        for _, _, owners, weight in group.rows:
            load = load_of(weight, unit)
            for owner in owners:
                sums[owner] += load
        if max(sums, default=0) >= MOST:
            raise overloaded_group(number, unit)


def _tables(groups: Sequence[GroupLoads], unit: int) -> tuple[pa.Table, pa.Table]:
    rows = [
        (number, topic, queue, owner, weight)
        for number, group in enumerate(groups)
        for queue, (topic, _, owners, weight) in enumerate(group.rows)
        for owner in owners or (None,)
    ]
    group, topic, queue, owner, weight = zip(*rows, strict=True) if rows else ((),) * 5
    ownership = pa.table(
        {
            "group": pa.array(group, pa.int64()),
            "topic": pa.array(topic, pa.string()),
            "queue": pa.array(queue, pa.int64()),
            "owner": pa.array(owner, pa.int64()),
            "weight": pa.array(weight, pa.int64() if unit == 1 else pa.float64()),
        }
    )
    listed = [(number, member) for number, group in enumerate(groups) for member in range(group.members) or (None,)]
    numbers, members = zip(*listed, strict=True) if listed else ((), ())
    return ownership, pa.table({"group": pa.array(numbers, pa.int64()), "member": pa.array(members, pa.int64())})
