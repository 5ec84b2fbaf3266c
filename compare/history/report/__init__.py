"""The history as one HTML file: the groups as a table, the worst ones day by day."""

from collections.abc import Sequence

from markupsafe import Markup

from compare.console.output import number, ratio
from compare.history.document import DayRecord, HistoryDocument, HistoryRecord
from compare.history.render import COLUMNS, NAMES, cells, headline, hours, signed
from compare.report.one_file import asset, rendered, script_of

MOST_ROWS = 500
"""Groups in the table; the rest is counted."""

_WIDTH, _HEIGHT, _BAR = 720, 120, 0.8
_LABEL_EVERY = 90
"""Pixels between two dates below the picture, at least."""


def write_report(found: HistoryDocument, top: int) -> str:
    """The page; it asks the network for nothing, and equal documents give equal text. ``top``: groups shown day by
    day."""
    groups = found["groups"]
    return rendered(
        asset(__package__, "page.html"),
        asset("compare.report", "style.css") + asset(__package__, "history.css"),
        script_of([]),
        {},
        headline=headline(found),
        tiles=_tiles(groups),
        names=NAMES,
        columns=[heading for heading, _ in COLUMNS],
        rows=[cells(each) for each in groups[:MOST_ROWS]],
        more=max(0, len(groups) - MOST_ROWS),
        worst=[_worst(each) for each in groups[:top]],
        left_out=found["left_out"],
        unfair=found["unfair"],
    )


def _tiles(groups: Sequence[HistoryRecord]) -> list[tuple[str, str]]:
    counts = [
        (sum(each["hours_unfair"] > 0 for each in groups), "unfair at some time"),
        (sum(each["hours_idle"] > 0 for each in groups), "with idle members"),
        (sum(each["hours_unowned"] > 0 for each in groups), "with queues without owner"),
        (sum(each["hours_double_owned"] > 0 for each in groups), "with queues owned twice"),
        (sum(each["rebalances"] for each in groups), "rebalances seen"),
        (sum(each["moves"] for each in groups), "moves"),
    ]
    return [(f"{len(groups):,}", "groups"), *((f"{count:,}", words) for count, words in counts if count)]


def _worst(group: HistoryRecord) -> dict[str, object]:
    figures = [
        (
            "score",
            number(group["score"], 1),
            f"least {number(group['score_min'], 1)}, per day {signed(group['score_trend'])}",
        ),
        ("hours unfair", hours(group["hours_unfair"]), f"of {hours(group['hours'])}"),
        ("hours with idle members", hours(group["hours_idle"]), ""),
        ("heaviest load over the mean", ratio(group["max_over_mean"]), f"at most {ratio(group['max_over_mean_max'])}"),
        ("moves per day", number(group["moves_per_day"], 1), f"{group['moves']:,} in all"),
        (
            "rebalances per day",
            number(group["rebalances_per_day"], 1),
            f"{group['rebalances']:,} in all, the longest {number(group['longest_rebalance_s'], 0)} s",
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
        "picture": _picture(group["days"]),
        "topics": [(each["topic"], hours(each["hours"]), ratio(each["max_over_mean_max"])) for each in group["topics"]],
    }


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
        if x >= labelled + _LABEL_EVERY:
            labelled = x
            parts.append(f'<text class="value" x="{x:.1f}" y="{_HEIGHT + 16}">{day["day"]}</text>')
    if line:
        parts.append(f'<path class="score" d="M{"L".join(line)}"/>')
    return Markup("".join((*parts, *dots, "</svg>")))
