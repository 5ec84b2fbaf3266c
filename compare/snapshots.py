"""What `equipoise watch` leaves: the columns of a snapshot (one row for each group that a poll found; docs/watch.md),
where its files lie, and how the files of a day that is over become one.

`VERSION` grows where a column changes its meaning or type. A new column does not change it: readers take columns by
name, and files that lack one read as null there.

Where snapshots lie: ``DIR/snapshots/day=2026-11-22/cluster=NAME/20261122T201530.125Z.parquet``.

A file appears whole: it is written beside its place, brought to the disk and renamed. What a killed process leaves is
hidden (``.equipoise-...``), and removed by the next one that writes there.

Days that are over become one file each: thousands of small files would take readers longer to open than to read.

The file's name holds the times of its first and its last snapshot:
``20261122T000012.000Z--20261122T235942.000Z.parquet``. It appears whole, and only then what it replaces is removed.
Where that was interrupted, files of which every moment is in such a file are superfluous: readers leave them out
(`superseded`), and the next watch removes them. A snapshot that comes late, of a day that was put together already, is
not: the next day it is put into the day's file.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from compare.figures.metrics import COUNTS, LOADS, paths
from protocols.files import replaced

if TYPE_CHECKING:
    import pyarrow as pa


VERSION = "1"
VERSION_KEY = b"equipoise.snapshot"
"""Name of the entry in a file's metadata that holds the version."""

TOPIC_COUNTS = tuple(name for name in paths("snapshot topics") if name in COUNTS)
TOPIC_LOADS = tuple(name for name in paths("snapshot topics") if name in LOADS)
"""Figures of a topic that a snapshot keeps."""


def snapshot_schema() -> "pa.Schema":
    """Names and types; everything but ``at``, ``every_s``, ``system``, ``group``, ``mode`` and ``partial`` may be
    null. Cluster and day are no columns: they are the names of the folders (``day=.../cluster=...``)."""
    import pyarrow as pa

    texts = pa.list_(pa.string())
    topic = pa.struct(
        [
            ("topic", pa.string()),
            *((name, pa.int64()) for name in TOPIC_COUNTS),
            *((name, pa.float64()) for name in TOPIC_LOADS),
            ("lag", pa.int64()),
        ]
    )
    queue = pa.struct([("topic", pa.string()), ("broker", pa.string()), ("number", pa.int32())])
    ends = pa.struct([("topic", pa.string()), ("broker", pa.string()), ("offsets", pa.list_(pa.int64()))])
    owner = pa.struct([("member", pa.string()), ("queues", pa.list_(queue))])
    return pa.schema(
        [
            ("at", pa.timestamp("ms", "UTC")),
            ("every_s", pa.float64()),
            *((name, pa.string()) for name in ("system", "group", "mode", "kind", "state", "strategy")),
            ("partial", pa.bool_()),
            *((name, pa.int64()) for name in COUNTS),
            *((name, pa.float64()) for name in LOADS),
            ("lag", pa.int64()),
            ("score", pa.float64()),
            ("distance", pa.int64()),
            ("optimum_max", pa.int64()),
            ("moves", pa.int64()),
            ("rebalances", pa.int64()),
            ("joined", texts),
            ("left", texts),
            ("topics", pa.list_(topic)),
            ("owners", pa.list_(owner)),
            ("ends", pa.list_(ends)),
        ],
        metadata={VERSION_KEY: VERSION.encode()},
    )


SNAPSHOTS = "snapshots"
"""The folder below DIR."""

_TIME = r"\d{8}T\d{6}\.\d{3}Z"
_NAME = re.compile(rf"(?P<time>{_TIME})(?:--(?P<last>{_TIME}))?(?:-\d+)?\.parquet")
_DAY = re.compile(r"day=(\d{4}-\d\d-\d\d)")
_CLUSTER = re.compile(r"cluster=([A-Za-z0-9._-]+)")


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file that watching has written, to judge by its name. ``time``, ``last``: those of its first and its last
    snapshot, as there."""

    path: Path
    day: date
    cluster: str
    size: int
    time: str
    last: str

    @property
    def is_of_day(self) -> bool:
        """Whether it holds snapshots that were put together."""
        return self.last != self.time or "--" in self.path.name


def day_of(at: float) -> date:
    """The day (UTC) of a time in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).date()


def write_snapshot_file(folder: Path, cluster: str, at: float, table: "pa.Table") -> Path:
    """Write the snapshot that a cluster gave at ``at`` (seconds since 1970), and return its path. Raises `OSError`."""
    import pyarrow.parquet as pq

    place = folder / SNAPSHOTS / f"day={day_of(at).isoformat()}" / f"cluster={cluster}"
    place.mkdir(parents=True, exist_ok=True)
    time = datetime.fromtimestamp(at, UTC)
    stem = f"{time:%Y%m%dT%H%M%S}.{time.microsecond // 1000:03d}Z"
    path, number = place / f"{stem}.parquet", 1
    while path.exists():
        number += 1
        path = place / f"{stem}-{number}.parquet"
    with replaced(path) as beside, beside.open("r+b") as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())
    return path


def snapshot_files(folder: Path) -> Iterator[SnapshotFile]:
    """The snapshots below DIR that this module has written, the oldest day first, then by cluster and time."""
    for place, day, cluster in _places(folder):
        for path in sorted(place.iterdir()):
            named = _NAME.fullmatch(path.name)
            if named:
                with suppress(OSError):  # another process may remove it at the same time
                    last = named["last"] or named["time"]
                    yield SnapshotFile(path, day, cluster, path.stat().st_size, named["time"], last)


def remove_unfinished(folder: Path, cluster: str) -> None:
    """Remove what killed processes have left of a cluster's snapshots. Raises nothing: it is in nobody's way."""
    for place, _, of_cluster in _places(folder):
        if of_cluster == cluster:
            for path in place.glob(".equipoise-*.part"):
                process = path.name.split("-")[1]
                with suppress(OSError):
                    if not process.isdigit() or not _lives(int(process)):
                        path.unlink()


def prune(folder: Path, at: float, keep_days: int, keep_bytes: int) -> int:
    """Remove the snapshots of days before the last ``keep_days`` (today is one), then the oldest ones until at most
    ``keep_bytes`` are left; the newest snapshot stays. Returns how many bytes are left. Raises `OSError`."""
    files = sorted(snapshot_files(folder), key=lambda file: (file.path.name, file.cluster))
    first = day_of(at) - timedelta(days=keep_days - 1)
    left = sum(file.size for file in files)
    for file in files[:-1]:
        if file.day >= first and left <= keep_bytes:
            continue
        file.path.unlink(missing_ok=True)
        left -= file.size
        for empty in (file.path.parent, file.path.parent.parent):
            with suppress(OSError):  # not empty yet
                empty.rmdir()
    return left


def _places(folder: Path) -> Iterator[tuple[Path, date, str]]:
    root = folder / SNAPSHOTS
    for of_day in sorted(root.iterdir()) if root.is_dir() else ():
        day = _DAY.fullmatch(of_day.name)
        for place in sorted(of_day.iterdir()) if day and of_day.is_dir() else ():
            cluster = _CLUSTER.fullmatch(place.name)
            if day and cluster and place.is_dir():
                with suppress(ValueError):
                    yield place, date.fromisoformat(day[1]), cluster[1]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


ROWS_AT_ONCE = 250_000
"""Rows of one row group, which are sorted by group and time: neighbours are alike then, and take little room."""


class _UnreadableError(Exception):
    """A file that is damaged, or of another version."""


def superseded(files: Sequence[SnapshotFile]) -> set[Path]:
    """The files whose moments are all in another one, which was put together of them. Only of files whose names let
    that be is more read than the name; one that cannot be read is none."""
    places: dict[Path, list[SnapshotFile]] = {}
    for file in files:
        places.setdefault(file.path.parent, []).append(file)
    found: set[Path] = set()
    moments: dict[Path, frozenset[int]] = {}
    for of_place in places.values():
        of_days = [file for file in of_place if file.is_of_day]
        for file in of_place:
            for whole in of_days:
                within = whole is not file and whole.time <= file.time and file.last <= whole.last
                if within and whole.path not in found:
                    for path in (file.path, whole.path):
                        if path not in moments:
                            moments[path] = _moments(path)
                    if moments[file.path] and moments[file.path] <= moments[whole.path]:
                        found.add(file.path)
                        break
    return found


def _moments(path: Path) -> frozenset[int]:
    """When the file's snapshots were taken; none where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        at = pq.ParquetFile(path, page_checksum_verification=True).read(["at"])["at"]
        return frozenset(at.cast(pa.int64()).unique().to_pylist())
    except (pa.ArrowException, KeyError, OSError):
        return frozenset()


def compact(folder: Path, cluster: str, today: date) -> int:
    """Make one file of each day of a cluster before ``today``, and return how many files that were replaced.

    A day with a file that cannot be read stays as it is. Raises `OSError` where nothing can be written.
    """
    files = [file for file in snapshot_files(folder) if file.cluster == cluster and file.day < today]
    superfluous = superseded(files)
    for path in superfluous:
        path.unlink(missing_ok=True)
    days: dict[date, list[SnapshotFile]] = {}
    for file in files:
        if file.path not in superfluous:
            days.setdefault(file.day, []).append(file)
    return len(superfluous) + sum(_compact(of_day) for of_day in days.values() if len(of_day) > 1)


def _compact(files: Sequence[SnapshotFile]) -> int:
    import pyarrow.parquet as pq

    ordered = sorted(files, key=lambda snapshot_file: snapshot_file.path.name)
    last = max(file.last for file in files)
    target = ordered[0].path.parent / f"{ordered[0].time}--{last}.parquet"
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
        if each.path != target:
            each.path.unlink(missing_ok=True)
    return len(ordered)


def _tables(files: Iterable[SnapshotFile]) -> "Iterator[pa.Table]":
    """The snapshots in order of time, several together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = snapshot_schema()
    waiting: list[pa.Table] = []
    rows = 0
    for file in files:
        try:
            table = pq.ParquetFile(file.path, page_checksum_verification=True).read()
            if (table.schema.metadata or {}).get(VERSION_KEY) != schema.metadata[VERSION_KEY]:
                raise _UnreadableError(file.path)
            columns = [  # files of older versions lack some
                table[each.name].cast(each.type) if each.name in table.column_names else pa.nulls(len(table), each.type)
                for each in schema
            ]
            waiting.append(pa.table(columns, schema=schema))
        except (pa.ArrowException, KeyError, OSError) as error:
            raise _UnreadableError(file.path) from error
        rows += table.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
