"""A sweep as one HTML file: the summary as a table; of allocations also where on the grid each strategy loses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from compare.figures.spark import sweeps
from compare.figures.spark.sessions import session
from compare.showing.html import page
from compare.showing.pictures.charts import Picture
from compare.showing.pictures.heat import HeatMap, Scale, heat_maps
from compare.sweeping.document import SweepDocument, cells, headings, headline
from compare.sweeping.folder import ROWS
from compare.sweeping.grid import Sweep

MOST_ROWS = 1000
"""Records in the table; the rest is counted."""

MOST_SIDE = 40
"""Values of an axis of a picture; of more, so many are drawn, spread over the axis."""

SIZE = ("members", "queues_per_topic")


def write_report(found: SweepDocument, sweep: Sweep, folder: Path) -> str:
    """The page; it asks the network for nothing, and equal rows give equal text."""
    records = found["summary"]
    return page(
        "sweep",
        {},
        headline=headline(found),
        about=sweep.about,
        columns=headings(found),
        rows=[cells(found, record) for record in records[:MOST_ROWS]],
        more=max(0, len(records) - MOST_ROWS),
        pictures=_pictures(sweep, folder) if sweep.kind == "allocations" else [],
    )


def _pictures(sweep: Sweep, folder: Path) -> list[Markup]:
    """Per shape and event the heaviest load over the best possible one, one map for each variant."""
    if len(sweep.members) < 2 or len(sweep.queues) < 2:
        return []
    rows = sweeps.read_rows(session(), str(folder.absolute() / ROWS))
    records = sweeps.by_size(rows, *SIZE).to_pylist()
    return [
        Markup(picture.svg)
        for shape in sweep.subscriptions
        for event in sweep.events
        if (picture := ratio_maps(sweep, records, shape, event.name)) is not None
    ]


def ratio_maps(sweep: Sweep, records: Sequence[Mapping[str, Any]], shape: str, event: str) -> Picture | None:
    """The picture of one shape and event, of records of `sweeps.by_size`; None without any."""
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
