"""What several verbs share: settings of click, files that options name, conditions such as `max_over_mean > 1.5`, and
SIGTERM, which is taken like Ctrl-C: finished results are told, and the exit code says who ended us."""

import json
import math
import operator
import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import click

import kafka_coordinator.cluster as kafka
import rocketmq_selfbalance.cluster as rocketmq
from compare.json_types import Json
from protocols import files
from protocols.errors import UserError
from protocols.versions import Versions

T = TypeVar("T")
Verb = TypeVar("Verb", bound=Callable[..., object])


def check_report(path: Path, option: str = "--report") -> None:
    """Before minutes of work and not after them: `UserError` if there is no folder to write the file in, or it may not
    be written."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        files.check_writable(path)
    except OSError as error:
        why = error.strerror if os.path.isdir(folder) else f"the folder {folder} does not exist"
        raise UserError(f"{option} {path}: {why}, expected a writable file") from None


def check_folder(path: Path) -> None:
    """The same for ``--parquet``: `UserError` if the folder is not there and cannot be made, or not be written in."""
    there = next(parent for parent in (path, *path.absolute().parents) if os.path.lexists(parent))
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        files.check_writable(there / "table")
    except OSError as error:
        raise UserError(f"--parquet {path}: {error.strerror} ({there}), expected a writable folder") from None


def save_report(path: Path, text: str) -> None:
    """Write it, whole or not at all, and say on standard error where it is; `UserError` if it cannot be written."""
    try:
        files.write_text(path, text)
    except OSError as error:
        raise UserError(f"--report {path}: {error.strerror}, expected a writable file") from None
    click.echo(f"The report is {path}: open it in a browser.", err=True)


def read_baseline(path: Path, verb: str, take: Callable[[Json], T]) -> T:
    """What ``take`` makes of the JSON document that the verb wrote earlier.

    ``take`` raises ValueError, KeyError, TypeError or AttributeError for a document that is none of the verb's; that,
    and a file that cannot be read, is a `UserError`.
    """
    try:
        return take(json.loads(files.content(path)))
    except OSError as error:
        raise UserError(f"--baseline {path}: {error.strerror}, expected a file of `{verb} --format json`") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"--baseline {path}: expected a file that `equipoise {verb} --format json` wrote") from None


SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_FORM = re.compile(r"\s*([a-z_0-9/-]+)\s*(>=|<=|==|!=|>|<)\s*(\S(?:.*\S)?)\s*")


class Parts(NamedTuple):
    """A condition as it was written."""

    column: str
    sign: str
    limit: str


def parts_of(text: str, option: str, example: str = "max_over_mean > 1.5", value: str = "VALUE") -> Parts:
    """The parts of a condition; `UserError` where it has another form. ``value``: what a limit is."""
    matched = _FORM.fullmatch(text)
    if matched is None:
        raise UserError(f"{option} {text!r}: expected COLUMN SIGN {value}, such as {example!r}")
    return Parts(*matched.groups())


def limit_of(parts: Parts, text: str, option: str) -> float:
    """The limit as a number; `UserError` where it is none."""
    try:
        value = float(parts.limit)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{option} {text!r}: {parts.limit!r} is not a number, expected one such as 1.5")
    return value


class NumberCondition(NamedTuple):
    """A column of numbers, a sign and a limit. What is null never meets it."""

    column: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str, option: str, columns: Collection[str], example: str) -> "NumberCondition":
        """The condition that the text says; `UserError` names what was expected."""
        parts = parts_of(text, option, example, "NUMBER")
        if parts.column not in columns:
            from protocols.scenario.validation import suggestion  # only for those who made a mistake

            raise UserError(f"{option} {text!r}: no column {parts.column!r}, {suggestion(parts.column, columns)}")
        return cls(parts.column, parts.sign, limit_of(parts, text, option))

    def holds(self, value: float | None) -> bool:
        """Whether a value meets it."""
        return value is not None and SIGNS[self.sign](value, self.limit)


EXIT_CODE = 128 + signal.SIGTERM
"""What shells report of a command that SIGTERM ended."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come. Whoever tells what is finished after Ctrl-C does so now."""


def hear_sigterm() -> None:
    """From now on SIGTERM raises `Terminated` in the main thread; a second one ends the process at once.

    Nothing changes where SIGTERM is ignored or somebody else's already.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        started_by = os.getpid()

        def end(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if os.getpid() != started_by:
                # A child that was forked and does not listen for itself yet has nothing to tell.
                os._exit(EXIT_CODE)
            raise Terminated

        signal.signal(signal.SIGTERM, end)


FORMATS = ("table", "markdown", "json")


def report_option(text: str = "Write a report as one HTML file that needs no network.") -> Callable[[Verb], Verb]:
    """Give a verb ``--report``, a path or None."""
    return click.option("--report", type=click.Path(path_type=Path, dir_okay=False), metavar="OUT.html", help=text)


def takes_versions(command: Callable[..., int]) -> Callable[..., int]:
    """Give a verb ``--kafka-version`` and ``--rocketmq-version``; its ``versions`` are system to version, as a scenario
    has them, of those that were given."""

    @wraps(command)
    def called(*args: Any, **given: Any) -> int:
        told = {system: given.pop(f"{system}_version") for system in _VERSIONED}
        versions = {
            system: _VERSIONED[system].named(version, f"--{system}-version").name
            for system, version in told.items()
            if version is not None
        }
        return command(*args, versions=versions, **given)

    for system, known in reversed(tuple(_VERSIONED.items())):
        option = click.option(
            f"--{system}-version",
            metavar="VERSION",
            help=f"{known.system}'s version in place of the scenario's: {', '.join(known)}"
            f" (left out: {known.newest.name}).",
        )
        called = option(called)
    return called


_VERSIONED: Mapping[str, Versions[Any]] = {"kafka": kafka.VERSIONS, "rocketmq": rocketmq.VERSIONS}


WIDE = click.option("--wide", is_flag=True, help="Tables as wide as they get, not in parts of 120 columns.")


def width_of(wide: bool) -> int | None:
    """Characters of a line that a table takes at most."""
    return None if wide else 120


HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
"""Context settings of every verb: click remembers them from a command's first use, wherever that was."""
