"""The rows of a part as an Arrow table, and as the file that they are kept in."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from compare.sweeping import allocations, simulations
from compare.sweeping.allocations import answer
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.parts import Part
from compare.sweeping.simulations import run_row

_AXES = (
    pa.field("cell", pa.int64()),
    pa.field("members", pa.int32()),
    pa.field("topics", pa.int32()),
    pa.field("queues_per_topic", pa.int32()),
    pa.field("brokers", pa.int32()),
    pa.field("subscription", pa.string()),
    pa.field("event", pa.string()),
)
_OF_A_RUN = (
    pa.field("latency_min_ms", pa.float64()),
    pa.field("latency_max_ms", pa.float64()),
    pa.field("seed", pa.int64()),
)
_LOADS = pa.field("loads", pa.list_(pa.int32()))


def schema_of(sweep: Sweep) -> pa.Schema:
    """The columns of the rows; the variant is in the folder's name."""
    if sweep.kind == "simulations":
        figures = (pa.field(name, _type(name in _WHOLE)) for name in simulations.FIGURES)
        return pa.schema([*_AXES, *_OF_A_RUN, *figures])
    counts = (pa.field(name, pa.int64()) for name in (*allocations.COUNTS, "moves"))
    ratios = (pa.field(name, pa.float64()) for name in allocations.RATIOS)
    return pa.schema([*_AXES, *counts, *ratios, *((_LOADS,) if sweep.loads else ())])


_WHOLE = {*simulations.WHOLE_NUMBERS, "event_rebalances", "event_moves", "event_fewest_moves"}


def _type(whole: bool) -> pa.DataType:
    return pa.int64() if whole else pa.float64()


def table_of(sweep: Sweep, part: Part) -> pa.Table:
    """The rows of a part, computed in Python. Raises `UserError` for what a variant cannot run."""
    schema = schema_of(sweep)
    rows = list(_rows(sweep, part))
    columns = {field.name: pa.array([row[field.name] for row in rows], field.type) for field in schema}
    return pa.table(columns, schema=schema)


def _rows(sweep: Sweep, part: Part) -> Iterator[Mapping[str, object]]:
    variant = sweep.systems[part.variant]
    for number in range(part.first, part.last):
        cell = sweep.cell(number)
        if not cell.counts:
            continue
        if sweep.kind == "simulations":
            yield axes_of(cell) | dict(run_row(sweep, cell, variant))
        else:
            found = answer(cell, variant)
            yield {**axes_of(cell), **found.figures, "loads": found.loads}


def axes_of(cell: Cell) -> dict[str, object]:
    """The columns that say which cell it is."""
    least, most = cell.latency
    values: Sequence[object] = (
        cell.number,
        cell.members,
        cell.topics,
        cell.queues,
        cell.brokers,
        cell.subscription,
        cell.event.name,
        least,
        most,
        cell.seed,
    )
    return dict(zip((field.name for field in (*_AXES, *_OF_A_RUN)), values, strict=True))
