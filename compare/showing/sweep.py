"""A sweep for people: how far it is, its summary as a table, and one HTML file, which of allocations also shows where
on the grid each strategy loses."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from markupsafe import Markup

from compare.figures.metrics import COLUMNS as METRICS
from compare.formatting import number, ratio
from compare.showing.console import READABLE, left, print_line, print_table, progress_line
from compare.showing.html import page
from compare.showing.pictures.charts import Picture
from compare.showing.pictures.heat import HeatMap, Scale, heat_maps
from compare.sweeping.document import Summary, SweepDocument
from compare.sweeping.folder import Finished
from compare.sweeping.grid import Sweep
from compare.sweeping.scale import LARGEST, STORIES

MOST_ROWS = 1000
"""Records in the table; the rest is counted."""

MOST_SIDE = 40
"""Values of an axis of a picture; of more, so many are drawn, spread over the axis."""


@contextmanager
def sweep_progress(finished: Finished) -> Iterator[Callable[[Finished], None]]:
    """Hands out a function that tells on standard error how much is finished, and how long the rest takes."""
    all, before = (sum(part.size for part in parts) for parts in (finished.parts, finished.records))
    began = time.monotonic()
    with progress_line("the first parts are computed") as show:

        def tell(finished: Finished) -> None:
            size = sum(part.size for part in finished.records)
            rest = left(size - before, all - before, time.monotonic() - began)
            show(f"{len(finished.records)} of {len(finished.parts)} parts, {finished.rows:,} rows{rest}", False)

        yield tell


Cell = Callable[[Summary], str]


def _percent(name: str) -> Cell:
    return lambda record: "-" if record[name] is None else f"{100 * record[name]:.1f} %"


def _ratio(name: str) -> Cell:
    return lambda record: ratio(record[name])


def _of_three(name: str, digits: int = 1) -> Cell:
    """Median, and from which to which value nine of ten runs lie."""

    def told(record: Summary) -> str:
        median, low, high = (record[f"{name}_{word}"] for word in ("median", "p5", "p95"))
        if median is None:
            return "-"
        if low == high:
            return number(median, digits)
        return f"{number(median, digits)} ({number(low, digits)} to {number(high, digits)})"

    return told


NAMES = ("variant", "subscription", "event")
"""Columns that say of what a record of the summary is, for those kinds that are no `scale`."""
_ALLOCATIONS: tuple[tuple[str, Cell], ...] = (
    ("groups", lambda record: number(record["cells"])),
    ("fairest", _percent("fairest_share")),
    ("max/best", _ratio("max_over_best")),
    ("95 %", _ratio("max_over_best_p95")),
    ("worst", _ratio("max_over_best_max")),
    ("idle", _percent("idle_share")),
    ("best idle", _percent("best_idle_share")),
    ("no owner", _percent("unowned_share")),
    ("two owners", _percent("double_owned_share")),
    ("moved", _percent("moved_share")),
    ("best moved", _percent("best_moved_share")),
)
_SIMULATIONS: tuple[tuple[str, Cell], ...] = (
    ("runs", lambda record: number(record["runs"])),
    ("settled", _percent("settled_share")),
    # Of records nobody wants parts.
    *((metric.heading, _of_three(metric.column, 0 if metric.unit == "records" else 1)) for metric in METRICS["sweep"]),
)


def _whole(name: str) -> Cell:
    return lambda record: "-" if record[name] is None else number(record[name], 0)


def _seconds(name: str) -> Cell:
    return lambda record: "-" if record[name] is None else number(record[name], 1)


_SCALE: tuple[tuple[str, Cell], ...] = (
    *((f"{story}: settled, s", _seconds(f"{story}_settle_s")) for story in STORIES),
    *((f"{story}: bytes/s", _whole(f"{story}_most_bytes_per_s")) for story in STORIES),
    ("at rest: requests/s", _whole("rest_requests_per_s")),
    ("bytes/s", _whole("rest_bytes_per_s")),
    ("largest answer", _whole(LARGEST)),
)


def names_of(found: SweepDocument) -> Sequence[str]:
    """The columns that say of what a record is."""
    return ("variant", "members", "seed") if found["kind"] == "scale" else NAMES


def columns_of(found: SweepDocument) -> Sequence[tuple[str, Cell]]:
    """Headings and cells of the summary's figures."""
    if found["kind"] == "scale":
        return _SCALE
    return _ALLOCATIONS if found["kind"] == "allocations" else _SIMULATIONS


def latencies(found: SweepDocument) -> bool:
    """Whether the summary differs by latency."""
    return len({_latency(record) for record in found["summary"]}) > 1


def cells(found: SweepDocument, record: Summary) -> list[str]:
    """A row of the table."""
    named = [str(record[name]) for name in names_of(found)]
    return [*named, *([_latency(record)] if latencies(found) else []), *(cell(record) for _, cell in columns_of(found))]


def headings(found: SweepDocument) -> list[tuple[str, str]]:
    """Headings of the table, and on which side they stand."""
    names = (*names_of(found), *(("latency",) if latencies(found) else ()))
    return [*((name, "left") for name in names), *((heading, "right") for heading, _ in columns_of(found))]


def headline(found: SweepDocument) -> str:
    """What the sweep is, in a line."""
    return f"{found['sweep']}: {found['rows']:,} rows of {len(found['variants'])} variants, in {found['out']}"


def _latency(record: Summary) -> str:
    if "latency_min_ms" not in record:
        return ""
    return f"{number(record['latency_min_ms'])}..{number(record['latency_max_ms'])} ms"


def print_sweep(found: SweepDocument, format: str, width: int | None = READABLE) -> None:
    """The summary. ``width``: of a table, at most."""
    print_line(headline(found), format)
    print_table(headings(found), [cells(found, record) for record in found["summary"]], format, names=3, width=width)


def write_report(found: SweepDocument, sweep: Sweep, sizes: Sequence[Summary]) -> str:
    """The page; it asks the network for nothing, and equal rows give equal text. ``sizes``: the figures that are drawn,
    of `compare.sweeping.document.by_size`."""
    records = found["summary"]
    return page(
        "sweep",
        {},
        headline=headline(found),
        about=sweep.about,
        columns=headings(found),
        rows=[cells(found, record) for record in records[:MOST_ROWS]],
        more=max(0, len(records) - MOST_ROWS),
        pictures=_pictures(sweep, sizes),
    )


def _pictures(sweep: Sweep, sizes: Sequence[Summary]) -> list[Markup]:
    """Per shape and event the heaviest load over the best possible one, one map for each variant."""
    return [
        Markup(picture.svg)
        for shape in sweep.subscriptions
        for event in sweep.events
        if (picture := ratio_maps(sweep, sizes, shape, event.name)) is not None
    ]


def ratio_maps(sweep: Sweep, records: Sequence[Summary], shape: str, event: str) -> Picture | None:
    """The picture of one shape and event, of records of `compare.sweeping.document.by_size`; None without any."""
    chosen = [record for record in records if (record["subscription"], record["event"]) == (shape, event)]
    if not chosen:
        return None
    of_variant: dict[str, dict[tuple[int, int], float | None]] = {}
    for each in chosen:
        place = each["members"], each["queues_per_topic"]
        # Low loads are no merit where queues are left over.
        of_variant.setdefault(each["variant"], {})[place] = None if each["unowned_share"] else each["max_over_best"]
    maps = [HeatMap(label, of_variant[label]) for label in sweep.labels if label in of_variant]
    scale = Scale(1.0, 3.0, lambda value: f"{value:.2f}")
    title = f"heaviest load over the best possible: {shape} subscriptions, {event} (grey: queues without an owner)"
    names = ("members", "queues per topic")
    return heat_maps(maps, _some(sweep.members), _some(sweep.queues), names, scale, title)


def _some(values: Sequence[int]) -> list[int]:
    ordered = sorted(values)
    if len(ordered) <= MOST_SIDE:
        return ordered
    return [ordered[at * (len(ordered) - 1) // (MOST_SIDE - 1)] for at in range(MOST_SIDE)]
