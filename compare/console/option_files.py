"""Files that options of several verbs name: the report to write, the baseline to compare with."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from compare.json_types import Json
from protocols import files
from protocols.errors import UserError

T = TypeVar("T")


def check_report(path: Path) -> None:
    """Before minutes of work and not after them: `UserError` if there is no folder to write the report in, or it may
    not be written."""
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise UserError(f"--report {path}: the folder {folder} does not exist, expected a writable file")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UserError(f"--report {path}: no permission to write, expected a writable file")


def check_folder(path: Path) -> None:
    """The same for ``--parquet``: `UserError` if the folder is not there and cannot be made, or not be written in."""
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise UserError(f"--parquet {path}: no permission to write in {there}, expected a writable folder")


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
        return take(json.loads(path.read_bytes()))
    except OSError as error:
        raise UserError(f"--baseline {path}: {error.strerror}, expected a file of `{verb} --format json`") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"--baseline {path}: expected a file that `equipoise {verb} --format json` wrote") from None
