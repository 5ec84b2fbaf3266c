"""The history for people: the worst groups, how they shared, how restless they were, which topics pile up.

The history as one HTML file: the groups as a table, the worst ones day by day.
"""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from compare.figures.histories import DayRecord, HistoryRecord
from compare.figures.history_parts import STORM
from compare.formatting import number, ratio, several
from compare.history import HistoryDocument
from compare.showing.console import print_line, print_table
from compare.showing.html import page

Cell = Callable[[HistoryRecord], str]

MOST_TOPICS = 3
"""Topics named per group."""


def hours(value: float | None) -> str:
    """Hours: with two decimals where they are few."""
    return "-" if value is None else f"{value:.{2 if 0 < value < 10 else 1}f}"


def signed(value: float | None) -> str:
    """A trend."""
    return "-" if value is None else f"{value:+.2f}"


NAMES = ("cluster", "system", "group")
COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("hours", lambda each: hours(each["hours"])),
    ("unfair h", lambda each: hours(each["hours_unfair"])),
    ("idle h", lambda each: hours(each["hours_idle"])),
    ("unowned h", lambda each: hours(each["hours_unowned"])),
    ("twice h", lambda each: hours(each["hours_double_owned"])),
    ("max/mean", lambda each: ratio(each["max_over_mean"])),
    ("moves", lambda each: number(each["moves"])),
    ("rebalances seen", lambda each: number(each["rebalances"])),
    ("in an hour", lambda each: number(each["rebalances_in_an_hour"])),
    ("storm h", lambda each: hours(each["hours_storm"])),
    ("come and go", lambda each: number(each["come_and_go"])),
    ("lag", lambda each: number(each["lag"], 0)),
    ("score", lambda each: number(each["score"], 1)),
)
_BY_DAY: tuple[tuple[str, Cell], ...] = (
    ("moves/day", lambda each: number(each["moves_per_day"], 1)),
    ("rebalances/day", lambda each: number(each["rebalances_per_day"], 1)),
    ("score/day", lambda each: signed(each["score_trend"])),
)
"""Shown where there are days."""


def columns_of(groups: Sequence[HistoryRecord]) -> tuple[tuple[str, Cell], ...]:
    """Those with a value for any group."""
    return (*COLUMNS, *(column for column in _BY_DAY if any(column[1](group) != "-" for group in groups)))


def headline(found: HistoryDocument) -> str:
    """What the history is about, in a line."""
    groups = found["groups"]
    unfair = sum(group["hours_unfair"] > 0 for group in groups)
    of = f"{several(len(groups), 'group')} of {several(len(found['clusters']), 'cluster')}"
    storms = sum(group["hours_storm"] > 0 for group in groups)
    stormy = f", {storms} with {STORM} rebalances or more within an hour" if storms else ""
    return f"{of}, {found['from']} to {found['to']}: {unfair} unfair at some time ({found['unfair']}){stormy}"


def print_history(found: HistoryDocument, format: str, top: int) -> None:
    """The ``top`` worst groups."""
    groups = found["groups"]
    print_line(headline(found), format)
    worst = groups[:top]
    title = f"The worst {len(worst)} groups" if len(groups) > len(worst) else "All groups, the worst first"
    shown = columns_of(worst)
    columns = [*((name, "left") for name in NAMES), *((heading, "right") for heading, _ in shown)]
    print_table(columns, [cells(each, shown) for each in worst], format, title, names=3)
    for line in topic_lines(worst):
        print_line(line, format)


def cells(group: HistoryRecord, columns: Sequence[tuple[str, Cell]]) -> list[str]:
    """A row of the table."""
    return [group["cluster"], group["system"], group["group"], *(cell(group) for _, cell in columns)]


def topic_lines(groups: Sequence[HistoryRecord]) -> list[str]:
    """Per group with topics that pile up, one line."""
    lines = []
    for group in groups:
        topics = group["topics"]
        if topics:
            named = ", ".join(f"{topic['topic']} ({hours(topic['hours'])} h)" for topic in topics[:MOST_TOPICS])
            more = f" and {len(topics) - MOST_TOPICS} more" if len(topics) > MOST_TOPICS else ""
            lines.append(f"{group['group']}: these topics load the same members: {named}{more}")
    return lines


MOST_ROWS = 500
"""Groups in the table; the rest is counted."""

_WIDTH, _HEIGHT, _BAR = 720, 120, 0.8
_LABEL, _LABEL_EVERY = 75, 90
"""Pixels that a date below the picture takes, and from one to the next at least."""


def write_report(found: HistoryDocument, top: int) -> str:
    """The page; it asks the network for nothing, and equal documents give equal text. ``top``: groups shown day by
    day."""
    groups = found["groups"]
    shown = columns_of(groups)
    return page(
        "history",
        {},
        headline=headline(found),
        tiles=_tiles(groups),
        names=NAMES,
        columns=[heading for heading, _ in shown],
        rows=[cells(group, shown) for group in groups[:MOST_ROWS]],
        more=max(0, len(groups) - MOST_ROWS),
        worst=[_worst(group) for group in groups[:top]],
        left_out=found["left_out"],
        unfair=found["unfair"],
    )


def _tiles(groups: Sequence[HistoryRecord]) -> list[tuple[str, str]]:
    counts = [
        (sum(group["hours_unfair"] > 0 for group in groups), "unfair at some time"),
        (sum(group["hours_idle"] > 0 for group in groups), "with idle members"),
        (sum(group["hours_unowned"] > 0 for group in groups), "with queues without owner"),
        (sum(group["hours_double_owned"] > 0 for group in groups), "with queues owned twice"),
        (sum(group["hours_storm"] > 0 for group in groups), "in a storm of rebalances"),
        (sum(group["rebalances"] for group in groups), "rebalances seen"),
        (sum(group["moves"] for group in groups), "moves"),
    ]
    return [(f"{len(groups):,}", "groups"), *((f"{count:,}", words) for count, words in counts if count)]


def _worst(group: HistoryRecord) -> dict[str, object]:
    trend = "" if group["score_trend"] is None else f", per day {signed(group['score_trend'])}"
    figures = [
        ("score", number(group["score"], 1), f"least {number(group['score_min'], 1)}{trend}"),
        ("hours unfair", hours(group["hours_unfair"]), f"of {hours(group['hours'])}"),
        ("hours with idle members", hours(group["hours_idle"]), ""),
        ("heaviest load over the mean", ratio(group["max_over_mean"]), f"at most {ratio(group['max_over_mean_max'])}"),
        ("moves", number(group["moves"]), _a_day(group["moves_per_day"])),
        (
            "rebalances seen",
            number(group["rebalances"]),
            f"at most {group['rebalances_in_an_hour']:,} in an hour{_a_day(group['rebalances_per_day'], ', ')}",
        ),
        (
            "members that come and go",
            number(group["come_and_go"]),
            f"{group['members_came']:,} came, {group['members_left']:,} left",
        ),
        ("lag", number(group["lag"], 0), f"at most {number(group['lag_max'])}, last {number(group['lag_last'])}"),
    ]
    return {
        "name": group["group"],
        "badges": (group["cluster"], group["system"]),
        "figures": figures,
        "picture": _picture(group["days"]) if group["days"] else None,
        "topics": [
            (topic["topic"], hours(topic["hours"]), ratio(topic["max_over_mean_max"])) for topic in group["topics"]
        ],
    }


def _a_day(value: float | None, before: str = "") -> str:
    return "" if value is None else f"{before}{number(value, 1)} a day"


def _picture(days: Sequence[DayRecord]) -> Markup:
    """A bar for each day: how much of it the group was unfair; the line is the score, its dots days with
    rebalances."""
    step = _WIDTH / max(len(days), 1)
    parts = [
        f'<svg class="picture days" viewBox="0 0 {_WIDTH} {_HEIGHT + 20}" role="img" aria-label="Unfair part and score'
        f' of each day"><path class="rule" d="M0 {_HEIGHT}H{_WIDTH}M0 0H{_WIDTH}"/>'
    ]
    line: list[str] = []
    dots: list[str] = []
    labelled = -_LABEL_EVERY * 1.0
    for at, day in enumerate(days):
        share = day["hours_unfair"] / day["hours"] if day["hours"] else 0.0
        x, high = at * step, share * _HEIGHT
        told = f"{day['day']}: unfair {hours(day['hours_unfair'])} h of {hours(day['hours'])}"
        told += f", score {number(day['score'], 1)}, {day['moves']} moves, {day['rebalances']} rebalances"
        parts.append(
            f'<rect class="unfair" x="{x:.1f}" y="{_HEIGHT - high:.1f}" width="{step * _BAR:.1f}" height="{high:.1f}">'
            f"<title>{told}</title></rect>"
        )
        if day["score"] is not None:
            middle, y = x + step * _BAR / 2, _HEIGHT * (1 - day["score"] / 100)
            line.append(f"{middle:.1f} {y:.1f}")
            if day["rebalances"]:
                dots.append(
                    f'<circle class="restless" cx="{middle:.1f}" cy="{y:.1f}" r="3"><title>{told}</title></circle>'
                )
        if x >= labelled + _LABEL_EVERY and (x == 0 or x + _LABEL <= _WIDTH):
            labelled = x
            parts.append(f'<text class="value" x="{x:.1f}" y="{_HEIGHT + 16}">{day["day"]}</text>')
    if line:
        parts.append(f'<path class="score" d="M{"L".join(line)}"/>')
    return Markup("".join((*parts, *dots, "</svg>")))
