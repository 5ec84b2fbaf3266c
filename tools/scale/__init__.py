"""The tables and pictures of docs/scale.md: of kept rows of sweeps of `kind: scale`, and of the limits.

The rows are those of examples/atlas/scale.yaml and of grids like it (`python -m tools.scale VARIANT MEMBERS...`
computes them anew). A run with 10,000 members takes a minute, so that a page is made of what was kept; a test compares
the smallest ones with a run.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from compare.formatting import number
from compare.showing.pictures.charts import Picture, lines
from compare.sweeping.scale import LARGEST, STORIES
from tools.scale.server_limits import LIMITS

KEPT: Final = Path(__file__).with_name("rows.json")
ROWS: Final[list[dict[str, Any]]] = json.loads(KEPT.read_text(encoding="utf-8"))
"""Each the label of a variant, its members and `compare.sweeping.scale.FIGURES`."""

PICTURES: Final[Mapping[str, tuple[str, str]]] = {
    "join": ("join_most_bytes_per_s", "bytes in the busiest second after a join, by members"),
    "start": ("start_most_bytes_per_s", "bytes in the busiest second after a start, by members"),
    "rest": ("rest_bytes_per_s", "bytes per second at rest, by members"),
}
"""Name of a picture to the column and its title."""


SETTLED: Final = tuple(f"{story}_settle_s" for story in STORIES)
AS_A_PARABOLA: Final = (
    "rest_requests_per_s",
    "rest_bytes_per_s",
    "start_most_bytes_per_s",
    "join_most_bytes_per_s",
    LARGEST,
)
"""What is a polynomial of degree two of the members: each of them asks, sends and is told what all are told, and an
answer has a part for each member. A test compares the largest computed group with what smaller ones say of it."""
BEYOND: Final = (20_000, 50_000, 100_000)
"""Members of groups of which only `AS_A_PARABOLA` is told."""


def minutes_of(variant: str) -> int:
    """How long the four stories of a row take: RocketMQ's clients ask for routes every 30 s."""
    return 8 if variant.startswith("rocketmq") else 2


def rows_of(variant: str) -> list[dict[str, Any]]:
    """Its rows, by members."""
    return [row for row in ROWS if row["variant"] == variant]


def grows() -> list[str]:
    """The variants whose groups may have any number of members; share groups may not."""
    return [each for each in _variants() if each != "kafka:share"]


def parabola(rows: Sequence[Mapping[str, Any]], column: str, members: int) -> float:
    """What the last three of these rows say of a group of so many members (Lagrange's form)."""
    found = 0.0
    for row in rows[-3:]:
        weight = Fraction(1)
        for other in rows[-3:]:
            if other is not row:
                weight *= Fraction(members - other["members"], row["members"] - other["members"])
        found += float(weight) * row[column]
    return found


def settled() -> str:
    """Seconds until a group is at rest, by story: the least and the most over its sizes."""
    heads = ["variant", *(f"{story}, s" for story in STORIES)]
    return _table(heads, ([each, *(_span(rows_of(each), column) for column in SETTLED)] for each in _variants()))


def _span(rows: Sequence[Mapping[str, Any]], column: str) -> str:
    known = [row[column] for row in rows if row[column] is not None]
    return " to ".join(dict.fromkeys(_cell(pick(known, default=None), 1) for pick in (min, max)))


def traffic() -> str:
    """Requests and bytes at rest and of the busiest seconds."""
    columns = (*AS_A_PARABOLA[:2], *(f"{story}_most_bytes_per_s" for story in STORIES), LARGEST)
    heads = ["variant", "members", "requests/s at rest", "bytes/s at rest"]
    heads += [*(f"{story}: bytes in the busiest second" for story in STORIES), "largest answer, bytes"]
    return _table(heads, ([*_named(row), *(_cell(row[column], 0) for column in columns)] for row in ROWS))


def beyond() -> str:
    """What the rows say of groups larger than any that was computed."""
    heads = ["variant", "members", "requests/s at rest", "bytes/s at rest"]
    heads += [*(f"{story}: bytes in the busiest second" for story in STORIES[:2]), "largest answer, bytes"]
    rows = (
        [each, f"{members:,}", *(_rounded(parabola(rows_of(each), column, members)) for column in AS_A_PARABOLA)]
        for each in grows()
        for members in BEYOND[:: len(BEYOND) - 1]
    )
    return _table(heads, rows)


def limits() -> str:
    """Each limit with the largest group within it."""
    heads = ["protocol", "what grows", "limit", "set by", "most members", "beyond it", "source"]
    rows = (
        [each.protocol, each.what, f"{each.most:,}", each.setting, _most(each.members), each.beyond, each.source]
        for each in LIMITS
    )
    return _table(heads, rows)


MADE: Final[Mapping[str, Callable[[], str]]] = {
    "settled": settled,
    "traffic": traffic,
    "beyond": beyond,
    "limits": limits,
}


def picture(name: str) -> Picture:
    """A picture of `PICTURES`, both axes logarithmic; of groups `BEYOND` the computed ones by `parabola`."""
    column, title = PICTURES[name]
    series: dict[str, list[tuple[float, float]]] = {}
    for variant in _variants():
        rows = rows_of(variant)
        points = [(row["members"], row[column]) for row in rows]
        if variant in grows():
            points += [(members, parabola(rows, column, members)) for members in BEYOND]
        series[variant] = points
    return lines(series, title, unit="", of="B", logarithmic=True)


def _variants() -> list[str]:
    return list(dict.fromkeys(row["variant"] for row in ROWS))


def _named(row: Mapping[str, Any]) -> list[str]:
    return [row["variant"], f"{row['members']:,}"]


def _cell(value: float | None, digits: int) -> str:
    return "-" if value is None else number(value, digits)


def _rounded(value: float) -> str:
    """To three digits, which is what a parabola is good for."""
    return f"{int(float(f'{value:.3g}')):,}"


def _most(members: int | None) -> str:
    return "none below 10,000,000" if members is None else f"{members:,}"


def _table(heads: Sequence[str], rows: Any) -> str:
    lines_ = [heads, ["---" for _ in heads], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines_)


_TABLE: Final = re.compile(r"(<!--scale: (\w+)-->\n).*?(<!--end of scale-->)", re.DOTALL)


def with_tables(text: str) -> str:
    """The page with every marked table as it is now."""
    return _TABLE.sub(lambda found: f"{found[1]}{MADE[found[2]]()}\n{found[3]}", text)
