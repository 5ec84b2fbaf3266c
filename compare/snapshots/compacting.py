"""Days that are over become one file each: thousands of small files would take readers longer to open than to read.

The file's name holds the times of its first and its last snapshot:
``20261122T000012.000Z--20261122T235942.000Z.parquet``. It appears whole, and only then what it replaces is removed.
Where that was interrupted, single snapshots within the times of such a file are superfluous: readers leave them out
(`superseded`), and the next watch removes them.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from compare.snapshots.columns import VERSION_KEY, snapshot_schema
from compare.snapshots.folder import SnapshotFile, snapshot_files
from protocols.files import replaced

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 250_000
"""Rows of one row group, which are sorted by group and time: neighbours are alike then, and take little room."""

_TIME = r"\d{8}T\d{6}\.\d{3}Z"
_DAY_FILE = re.compile(rf"({_TIME})--({_TIME})(?:-\d+)?\.parquet")


class _UnreadableError(Exception):
    """A file that is damaged, or of another version."""


def superseded(files: Sequence[SnapshotFile]) -> set[Path]:
    """The single snapshots whose rows are in a file of their day as well."""
    spans: dict[Path, list[tuple[str, str]]] = {}
    for each in files:
        found = _DAY_FILE.fullmatch(each.path.name)
        if found:
            spans.setdefault(each.path.parent, []).append((found[1], found[2]))
    return {
        each.path
        for each in files
        if not _DAY_FILE.fullmatch(each.path.name)
        and any(first <= each.time <= last for first, last in spans.get(each.path.parent, ()))
    }


def compact(folder: Path, cluster: str, today: date) -> int:
    """Make one file of each day of a cluster before ``today``, and return how many files that were replaced.

    A day with a file that cannot be read stays as it is. Raises `OSError` where nothing can be written.
    """
    files = [each for each in snapshot_files(folder) if each.cluster == cluster and each.day < today]
    superfluous = superseded(files)
    for path in superfluous:
        path.unlink(missing_ok=True)
    days: dict[date, list[SnapshotFile]] = {}
    for each in files:
        if each.path not in superfluous and not _DAY_FILE.fullmatch(each.path.name):
            days.setdefault(each.day, []).append(each)
    return len(superfluous) + sum(_compact(of_day) for of_day in days.values() if len(of_day) > 1)


def _compact(files: Sequence[SnapshotFile]) -> int:
    import pyarrow.parquet as pq

    ordered = sorted(files, key=lambda each: each.path.name)
    target = ordered[0].path.parent / f"{ordered[0].time}--{ordered[-1].time}.parquet"
    schema = snapshot_schema()
    schema = schema.with_metadata({**(schema.metadata or {}), b"equipoise.cluster": ordered[0].cluster.encode()})
    try:
        with replaced(target) as beside, beside.open("r+b") as file:
            with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
                for table in _tables(ordered):
                    in_order = table.sort_by([(name, "ascending") for name in ("system", "group", "at")])
                    writer.write_table(in_order, row_group_size=ROWS_AT_ONCE)
            file.flush()
            os.fsync(file.fileno())
    except _UnreadableError:
        return 0  # damaged, or of another version: whoever reads the day will name it
    for each in ordered:
        with suppress(FileNotFoundError):
            each.path.unlink()
    return len(ordered)


def _tables(files: Iterable[SnapshotFile]) -> "Iterator[pa.Table]":
    """The snapshots in order of time, several together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = snapshot_schema()
    waiting: list[pa.Table] = []
    rows = 0
    for each in files:
        try:
            table = pq.ParquetFile(each.path, page_checksum_verification=True).read()
            if (table.schema.metadata or {}).get(VERSION_KEY) != schema.metadata[VERSION_KEY]:
                raise _UnreadableError(each.path)
            waiting.append(table.select(schema.names).cast(schema))
        except (pa.ArrowException, KeyError, OSError) as error:
            raise _UnreadableError(each.path) from error
        rows += table.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
