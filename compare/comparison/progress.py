"""How far work is, on standard error: what is done and, from the first result on, how long the rest takes."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from compare.console.output import visible
from compare.scenarios.variants import Variant

MANY = 20
"""Runs from which on every tenth part of them is told where standard error is no terminal."""

QUIET_S = 10.0
"""Where standard error is no terminal, seconds after which a line is due."""

UNITS = (("years", 365 * 86_400.0), ("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
"""Names of units and their seconds; an amount is told in the first one of which there are two."""


def about(seconds: float) -> str:
    """Roughly how long: ``12 min``, ``3 days``."""
    name, unit = next(((name, unit) for name, unit in UNITS if seconds >= 2 * unit), UNITS[-1])
    return f"{seconds / unit:,.0f} {name}"


def left(done: float, all: float, seconds: float) -> str:
    """How long the rest takes if it goes on as it did for so many seconds: ``, 12 min left``; empty where nothing is
    done, or all."""
    return f", {about((all - done) * seconds / done)} left" if 0 < done < all else ""


@contextmanager
def progress_line(beginning: str) -> Iterator[Callable[[str, bool], None]]:
    """Hands out a function that shows a line. On a terminal it changes in place; elsewhere it is printed where it is
    due: where the caller says so, or some time after the last one."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(beginning) as status:
            yield lambda line, due: status.update(Text(line))
        return
    last = time.monotonic()

    def print_now_and_then(line: str, due: bool) -> None:
        nonlocal last
        if due or time.monotonic() - last >= QUIET_S:
            last = time.monotonic()
            click.echo(line, err=True)

    yield print_now_and_then


@contextmanager
def run_progress(count: int) -> Iterator[Callable[[Variant], None]]:
    """Hands out a function that is told of every finished run."""
    done, began = 0, time.monotonic()
    with progress_line("running") as show:

        def tell(run: Variant) -> None:
            nonlocal done
            done += 1
            line = f"{done} of {count} runs{left(done, count, time.monotonic() - began)}"
            if sys.stderr.isatty():
                line = f"{line}; {visible(run.scenario.name)}: {visible(run.label)}"
            show(line, count >= MANY and done * 10 // count > (done - 1) * 10 // count)

        yield tell
