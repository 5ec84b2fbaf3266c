"""The numpy engine over Arrow tables (`compare.figures.shapes`), and what every Spark task runs on its groups.

An owner is a member whether listed or not.

The engines that count figures: numpy on this machine, or Spark; both give the same bytes.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from compare.figures.coded import CodedRows, Layout, coded_members, coded_ownership, layout_of
from compare.figures.counting import count_sorted
from compare.figures.last_step import Floats, Integers, Sums, last_step
from compare.figures.merging import faults_in, in_sorted_order, merged
from compare.figures.metrics import COUNTS, NAMES


def table_fairness(
    ownership: pa.Table,
    members: pa.Table,
    *,
    weight: str | None = None,
    with_retry: bool = False,
    per_topic: bool = False,
) -> pa.Table:
    """The figures of every group as a table: ``run`` (if given), ``group``, then the figures; sorted by group.

    ``weight`` names the weight's column (default: ``weight`` where there is one, else 1 each). ``per_topic`` adds a
    column ``topic`` and one row per topic of a group; ``topic`` is null in the rows of whole groups. Raises
    `UserError` for columns that are missing or of another type, and for rows that say what none may
    (`compare.figures.shapes`).
    """
    layout = layout_of(ownership.schema, members.schema, weight)
    listed = coded_members(members, layout)
    owned, owners = coded_ownership(ownership, layout, with_retry=with_retry)
    figures = coded_fairness([owned], [listed, *([owners] if owners else [])], layout, per_topic=per_topic)
    keys = [*layout.columns.keys, *(["topic"] if per_topic else [])]
    return figures.sort_by([(key, "ascending") for key in keys])


def coded_fairness(
    owned: Sequence[CodedRows], listed: Sequence[CodedRows], layout: Layout, *, per_topic: bool
) -> pa.Table:
    """Figures of whole groups, in any order, from coded rows of ownership and of members.

    Raises `UserError` for a queue that is listed twice for one owner, and for a member with too large a load.
    """
    rows = merged(owned, listed, layout)
    in_order, _ = in_sorted_order(rows)
    of_groups, of_topics, starts = count_sorted(
        in_order, layout.unit, *faults_in(layout.columns, layout.unit, rows.place)
    )
    everyone = np.arange(len(rows.members))
    named = {key: each.taken(everyone) for key, each in rows.keys.items()}
    if not per_topic:
        return figure_table(named, of_groups)
    of_each = {key: each.taken(in_order.group[starts]) for key, each in rows.keys.items()}
    of_each["topic"] = rows.topic.values.take(pa.array(in_order.topic[starts] - 1))
    named["topic"] = pa.nulls(len(everyone), pa.string())
    return pa.concat_tables([figure_table(named, of_groups), figure_table(of_each, of_topics)])


def figure_table(named: dict[str, pa.Array], sums: Sums) -> pa.Table:
    """Columns that name the rows, then the figures: counts as int64, the others as float64, null where undefined."""
    figures = last_step(sums)
    return pa.table({**named, **{name: _column(name, figures[name]) for name in NAMES}})


def _column(name: str, values: Integers | Floats) -> pa.Array:
    return pa.array(values.astype(np.int64)) if name in COUNTS else pa.array(values, from_pandas=True)
