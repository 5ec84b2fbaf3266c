"""Which files of a folder hold snapshots, and which are left out, with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from compare.snapshots.columns import VERSION, VERSION_KEY, snapshot_schema
from compare.snapshots.compacting import superseded
from compare.snapshots.folder import SNAPSHOTS, snapshot_files
from protocols import UserError

_DAMAGED = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not counted."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """``root``: the folder ``snapshots``. ``files``: those to read, None for all in it."""

    root: str
    files: tuple[str, ...] | None
    left_out: tuple[LeftOut, ...] = ()


def selected(folder: str, since: date | None, until: date | None, clusters: Sequence[str]) -> Selection:
    """The files of these days and clusters (all, where none are named).

    Of another file system than the local one everything is read, and Spark chooses. `UserError` where there is no
    snapshot.
    """
    if "://" in folder:
        return Selection(f"{folder.rstrip('/')}/{SNAPSHOTS}", None)
    place = Path(folder)
    if not place.is_dir():
        raise UserError(f"{folder}: there is no such folder, expected one that `equipoise watch --out` has written")
    every = list(snapshot_files(place))
    if not every:
        raise UserError(f"{folder}: no snapshots, expected a folder that `equipoise watch --out` has written")
    superfluous = superseded(every)
    chosen = [
        each.path
        for each in every
        if each.path not in superfluous
        and (since is None or each.day >= since)
        and (until is None or each.day <= until)
        and (not clusters or each.cluster in clusters)
    ]
    if not chosen:
        raise UserError(f"{folder}: no snapshots of these days and clusters, expected others of the {len(every)} files")
    left_out = [LeftOut(str(path), why) for path in chosen if (why := _fault_of_footer(path)) is not None]
    without = {each.file for each in left_out}
    files = tuple(str(path) for path in chosen if str(path) not in without)
    if not files:
        raise UserError(f"{folder}: no readable snapshots: {left_out[0].file}: {left_out[0].why}")
    root = place / SNAPSHOTS
    there = sum(not path.name.startswith(".") for path in root.rglob("*.parquet"))
    return Selection(str(root), None if len(files) == there else files, tuple(left_out))


def thoroughly(selection: Selection) -> Selection:
    """The selection without the files of which any part cannot be read; every byte of every file is looked at."""
    files = selection.files or tuple(str(each.path) for each in snapshot_files(Path(selection.root).parent))
    faults = [LeftOut(file, why) for file in files if (why := _fault_inside(file)) is not None]
    without = {each.file for each in faults}
    readable = tuple(file for file in files if file not in without)
    if faults and not readable:
        raise UserError(f"{selection.root}: no readable snapshots: {faults[0].file}: {faults[0].why}")
    return Selection(selection.root, readable, (*selection.left_out, *faults))


def _fault_of_footer(path: Path) -> str | None:
    try:
        schema = pq.read_schema(path)
    except _DAMAGED as error:
        return f"damaged: {_first_line(error)}"
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is None:
        return "not a snapshot of `equipoise watch`"
    if version != VERSION.encode():
        return f"a snapshot of version {version.decode('utf-8', 'replace')}, expected {VERSION}"
    wanted = snapshot_schema()
    wrong = [
        name for name in schema.names if name in wanted.names and schema.field(name).type != wanted.field(name).type
    ]
    return f"column {wrong[0]} holds {schema.field(wrong[0]).type}" if wrong else None


def _fault_inside(file: str) -> str | None:
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            for group in range(opened.num_row_groups):
                opened.read_row_group(group)
    except _DAMAGED as error:
        return f"damaged: {_first_line(error)}"
    return None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
