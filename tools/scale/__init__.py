"""The tables and pictures of docs/scale.md: of kept rows of sweeps of `kind: scale`, and of the limits.

The rows are those of examples/atlas/scale.yaml and of two grids like it (share groups up to 199 members; RocketMQ with
eight minutes, because its clients ask every 30 s). A sweep with 2,000 members takes minutes, so that a page is made of
what was kept; a test compares the smallest ones with a run.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any, Final

from compare.formatting import number
from compare.showing.pictures.charts import Picture, lines
from compare.sweeping.limits import LIMITS
from compare.sweeping.scale import LARGEST, STORIES

ROWS: Final = json.loads(Path(__file__).with_name("rows.json").read_text(encoding="utf-8"))
"""Each the label of a variant, its members and `compare.sweeping.scale.FIGURES`."""

PICTURES: Final[Mapping[str, tuple[str, str]]] = {
    "join": ("join_most_bytes_per_s", "bytes in the busiest second after a join (powers of 10)"),
    "start": ("start_most_bytes_per_s", "bytes in the busiest second after a start (powers of 10)"),
    "rest": ("rest_bytes_per_s", "bytes per second at rest (powers of 10)"),
}
"""Name of a picture to the column and its title."""


def settled() -> str:
    """Seconds until a group is at rest, by story."""
    heads = ["variant", "members", *(f"{story}, s" for story in STORIES)]
    return _table(heads, ([*_named(row), *(_cell(row[f"{story}_settle_s"], 1) for story in STORIES)] for row in ROWS))


def traffic() -> str:
    """Requests and bytes at rest and of the busiest seconds."""
    columns = ("rest_requests_per_s", "rest_bytes_per_s", *(f"{story}_most_bytes_per_s" for story in STORIES), LARGEST)
    heads = ["variant", "members", "requests/s at rest", "bytes/s at rest"]
    heads += [*(f"{story}: bytes in the busiest second" for story in STORIES), "largest answer, bytes"]
    return _table(heads, ([*_named(row), *(_cell(row[column], 0) for column in columns)] for row in ROWS))


def limits() -> str:
    """Each limit with the largest group within it."""
    heads = ["protocol", "what grows", "limit", "set by", "most members", "beyond it", "source"]
    rows = (
        [each.protocol, each.what, f"{each.most:,}", each.setting, _most(each.members), each.beyond, each.source]
        for each in LIMITS
    )
    return _table(heads, rows)


MADE: Final[Mapping[str, Callable[[], str]]] = {"settled": settled, "traffic": traffic, "limits": limits}


def picture(name: str) -> Picture:
    """A picture of `PICTURES`, both axes in powers of ten."""
    column, title = PICTURES[name]
    series: dict[str, list[tuple[float, float]]] = {}
    for row in ROWS:
        series.setdefault(row["variant"], []).append((log10(row["members"]), log10(max(row[column], 1))))
    return lines(series, title, unit="")


def _named(row: Mapping[str, Any]) -> list[str]:
    return [row["variant"], f"{row['members']:,}"]


def _cell(value: float | None, digits: int) -> str:
    return "-" if value is None else number(value, digits)


def _most(members: int | None) -> str:
    return "none below 10,000,000" if members is None else f"{members:,}"


def _table(heads: Sequence[str], rows: Any) -> str:
    lines_ = [heads, ["---" for _ in heads], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines_)


_TABLE: Final = re.compile(r"(<!--scale: (\w+)-->\n).*?(\n<!--end of scale-->)", re.DOTALL)


def with_tables(text: str) -> str:
    """The page with every marked table as it is now."""
    return _TABLE.sub(lambda found: f"{found[1]}{MADE[found[2]]()}{found[3]}", text)
