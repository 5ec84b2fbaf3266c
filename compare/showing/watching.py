"""The listeners that tell a person, or a program that reads lines, what happens."""

import json
import sys
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from compare.auditing.baseline import sentence
from compare.figures.metrics import COLUMNS
from compare.formatting import metric_text, number, several, visible
from compare.reading.observed import Skipped
from compare.showing.console import print_line
from compare.watching.changes import SeenGroup
from compare.watching.polling import Failure, Poll

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_TOLD = 40
"""Changed groups that one poll tells line by line."""


def time_of(at: float) -> str:
    """A time in seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def summary(poll: Poll) -> str:
    """One poll in a line."""
    states = [group.state for group in poll.groups]
    idle = sum(bool(state.figures["idle_members"]) for state in states)
    lags = [state.figures["lag"] for state in states if state.figures["lag"] is not None]
    parts = [
        several(len(states), "group"),
        f"{sum(bool(state.distance) for state in states)} less fair than possible",
        f"{idle} with idle members",
        f"lag {number(sum(lags)) if lags else '-'}",
    ]
    if moving := sum(state.is_on_the_move for state in states):
        parts.insert(2, f"{moving} rebalancing (not judged)")
    if poll.skipped:
        parts.append(f"{len(poll.skipped)} not read")
    return ", ".join(parts)


def change_lines(poll: Poll) -> list[str]:
    """One line per changed group, the first `MOST_TOLD`."""
    lines = [sentence(change) for change in poll.changes[:MOST_TOLD]]
    if len(poll.changes) > MOST_TOLD:
        lines.append(f"... and {len(poll.changes) - MOST_TOLD} more groups changed")
    return lines


def failure_line(failure: Failure) -> str:
    """What failed, and when it is tried again."""
    again = f"next attempt in {number(failure.next_at - failure.at)} s"
    return f"cannot be read ({_times(failure.failures)}): {failure.why}; {again}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


class Lines:
    """Lines on standard output, those about failures on standard error; ``format``: ``table`` or ``markdown``."""

    def __init__(self, format: str) -> None:
        self._format = format
        self._skipped: dict[str, Sequence[Skipped]] = {}

    def polled(self, poll: Poll) -> None:
        """The poll and what changed."""
        head = f"{time_of(poll.at)} {poll.cluster}"
        if poll.after_failures:
            click.echo(f"{head}: answers again after {several(poll.after_failures, 'failed attempt')}", err=True)
        changed = "" if poll.number == 1 or poll.changes else "; nothing changed"
        print_line(f"{head}: {summary(poll)}{changed}", self._format)
        for line in change_lines(poll):
            print_line(f"{head}: {line}", self._format)
        if poll.skipped and poll.skipped != self._skipped.get(poll.cluster):
            click.echo(visible(f"{head}: {poll.skipped[0].source}: {poll.skipped[0].why}"), err=True)
        self._skipped[poll.cluster] = poll.skipped
        sys.stdout.flush()

    def failed(self, failure: Failure) -> None:
        """What failed."""
        click.echo(visible(f"{time_of(failure.at)} {failure.cluster}: {failure_line(failure)}"), err=True)


class JsonLines:
    """One JSON object per line for each poll and each failure, on standard output."""

    def polled(self, poll: Poll) -> None:
        """``changes`` as in the audit's document."""
        self._write(
            {
                "at": time_of(poll.at),
                "cluster": poll.cluster,
                "poll": poll.number,
                "groups": [_record(group) for group in poll.groups],
                "changes": list(poll.changes),
                "skipped": [{"source": each.source, "line": each.line, "why": each.why} for each in poll.skipped],
            }
        )

    def failed(self, failure: Failure) -> None:
        """``next_at``: when it is tried again."""
        self._write(
            {
                "at": time_of(failure.at),
                "cluster": failure.cluster,
                "failed": failure.why,
                "failures": failure.failures,
                "next_at": time_of(failure.next_at),
            }
        )

    def _write(self, value: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
        sys.stdout.flush()


def _record(seen: SeenGroup) -> dict[str, object]:
    system, group = seen.state.key
    return {
        "system": system,
        "group": group,
        **seen.state.figures,
        "score": seen.state.score,
        "distance": seen.state.distance,
        "moves": seen.moves,
        "moves_total": seen.moves_total,
        "rebalances_seen_total": seen.rebalances_seen_total,
        "rebalances_total": seen.rebalances_total,
        "lag_s": seen.waiting.age_s,
    }


class LiveTable:
    """A table on the terminal that shows the worst groups now, and below it what happened last."""

    _NEWS = 8

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
        self._polls: dict[str, Poll] = {}
        self._failures: dict[str, Failure] = {}
        self._news: deque[str] = deque(maxlen=self._NEWS)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def polled(self, poll: Poll) -> None:
        """Show the poll."""
        self._polls[poll.cluster] = poll
        if self._failures.pop(poll.cluster, None) is not None:
            self._tell(poll.at, poll.cluster, "answers again")
        for line in change_lines(poll)[-self._NEWS :]:
            self._tell(poll.at, poll.cluster, line)
        self._live.update(self._screen(), refresh=True)

    def failed(self, failure: Failure) -> None:
        """Show that the cluster is silent."""
        self._failures[failure.cluster] = failure
        self._tell(failure.at, failure.cluster, failure_line(failure))
        self._live.update(self._screen(), refresh=True)

    def _tell(self, at: float, cluster: str, line: str) -> None:
        self._news.append(visible(f"{time_of(at)} {cluster}: {line}"))

    def _screen(self) -> "RenderableType":
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("cluster", "system", "group"):
            table.add_column(heading, overflow="fold")
        for metric in COLUMNS["watch"]:
            table.add_column(metric.heading, justify="right", no_wrap=True)
        every = [(cluster, each) for cluster, poll in sorted(self._polls.items()) for each in poll.groups]
        every.sort(key=lambda each: -each[1].state.group.cost)
        heads = [
            *(f"{time_of(poll.at)} {name}: {summary(poll)}" for name, poll in sorted(self._polls.items())),
            *(f"{name}: {failure_line(failure)}" for name, failure in sorted(self._failures.items())),
        ]
        room = max(3, self._console.height - len(heads) - len(self._news) - 6)
        for cluster, seen in every[:room]:
            system, group = seen.state.key
            figures = (metric_text(metric, seen.figures[metric.path]) for metric in COLUMNS["watch"])
            table.add_row(*(Text(cell) for cell in (cluster, system, visible(group), *figures)))
        more = [Text(f"... and {len(every) - room} more groups")] if len(every) > room else []
        news = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._news]
        return Group(*(Text(visible(line)) for line in heads), table, *more, *news)
