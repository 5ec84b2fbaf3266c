"""The history for people: the worst groups, how they shared, how restless they were, which topics pile up."""

from collections.abc import Callable, Sequence

from compare.console.output import number, print_line, print_table, ratio
from compare.history.document import HistoryDocument, HistoryRecord

Cell = Callable[[HistoryRecord], str]

MOST_TOPICS = 3
"""Topics named per group."""


def hours(value: float | None) -> str:
    """Hours with one decimal."""
    return "-" if value is None else f"{value:.1f}"


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
    ("moves/day", lambda each: number(each["moves_per_day"], 1)),
    ("rebalances/day", lambda each: number(each["rebalances_per_day"], 1)),
    ("come and go", lambda each: number(each["come_and_go"])),
    ("lag", lambda each: number(each["lag"], 0)),
    ("score", lambda each: number(each["score"], 1)),
    ("per day", lambda each: signed(each["score_trend"])),
)


def headline(found: HistoryDocument) -> str:
    """What the history is about, in a line."""
    groups = found["groups"]
    unfair = sum(each["hours_unfair"] > 0 for each in groups)
    of = f"{_many(len(groups), 'group')} of {_many(len(found['clusters']), 'cluster')}"
    return f"{of}, {found['from']} to {found['to']}: {unfair} unfair at some time ({found['unfair']})"


def print_history(found: HistoryDocument, format: str, top: int) -> None:
    """The ``top`` worst groups."""
    groups = found["groups"]
    print_line(headline(found), format)
    worst = groups[:top]
    title = f"The worst {len(worst)} groups" if len(groups) > len(worst) else "All groups, the worst first"
    columns = [*((name, "left") for name in NAMES), *((heading, "right") for heading, _ in COLUMNS)]
    print_table(columns, [cells(each) for each in worst], format, title, names=3)
    for line in topic_lines(worst):
        print_line(line, format)


def cells(group: HistoryRecord) -> list[str]:
    """A row of the table."""
    return [group["cluster"], group["system"], group["group"], *(cell(group) for _, cell in COLUMNS)]


def topic_lines(groups: Sequence[HistoryRecord]) -> list[str]:
    """Per group with topics that pile up, one line."""
    lines = []
    for each in groups:
        topics = each["topics"]
        if topics:
            named = ", ".join(f"{topic['topic']} ({hours(topic['hours'])} h)" for topic in topics[:MOST_TOPICS])
            more = f" and {len(topics) - MOST_TOPICS} more" if len(topics) > MOST_TOPICS else ""
            lines.append(f"{each['group']}: these topics load the same members: {named}{more}")
    return lines


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
