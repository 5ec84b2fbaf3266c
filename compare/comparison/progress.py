"""How many runs are done, on standard error, while the comparison works."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from compare.console.output import visible
from compare.scenarios.variants import Variant

MANY = 20
"""Runs from which on their number is told where standard error is no terminal."""


@contextmanager
def run_progress(count: int) -> Iterator[Callable[[Variant], None]]:
    """On standard error: where it is a terminal, a line that changes; else, of many runs, one line now and then."""
    done = 0
    if sys.stderr.isatty() and count:
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status("running") as status:

            def tell(run: Variant) -> None:
                nonlocal done
                done += 1
                status.update(Text(f"{done} of {count} runs; {visible(run.scenario.name)}: {visible(run.label)}"))

            yield tell
        return

    def tell_now_and_then(run: Variant) -> None:
        nonlocal done
        done += 1
        if count >= MANY and done * 10 // count > (done - 1) * 10 // count:
            click.echo(f"{done} of {count} runs", err=True)

    yield tell_now_and_then
