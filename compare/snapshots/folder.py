"""Where snapshots lie: ``DIR/snapshots/day=2026-11-22/cluster=NAME/20261122T201530.125Z.parquet``.

A file appears whole: it is written beside its place, brought to the disk and renamed. What a killed process leaves is
hidden (``.equipoise-...``), and removed by the next one that writes there.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from protocols.files import replaced

if TYPE_CHECKING:
    import pyarrow as pa

SNAPSHOTS = "snapshots"
"""The folder below DIR."""

_NAME = re.compile(r"(?P<time>\d{8}T\d{6}\.\d{3}Z)(?:--\d{8}T\d{6}\.\d{3}Z)?(?:-\d+)?\.parquet")
_DAY = re.compile(r"day=(\d{4}-\d\d-\d\d)")
_CLUSTER = re.compile(r"cluster=([A-Za-z0-9._-]+)")


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file that watching has written, to judge by its name. ``time``: that of its (first) snapshot, as there."""

    path: Path
    day: date
    cluster: str
    size: int
    time: str


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
                    yield SnapshotFile(path, day, cluster, path.stat().st_size, named["time"])


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
    files = sorted(snapshot_files(folder), key=lambda each: (each.path.name, each.cluster))
    first = day_of(at) - timedelta(days=keep_days - 1)
    left = sum(each.size for each in files)
    for each in files[:-1]:
        if each.day >= first and left <= keep_bytes:
            continue
        each.path.unlink(missing_ok=True)
        left -= each.size
        for empty in (each.path.parent, each.path.parent.parent):
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
