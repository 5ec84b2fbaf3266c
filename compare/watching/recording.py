"""The listener that keeps every poll as a snapshot."""

import fcntl
import os
import socket
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from compare.figures.metrics import COUNTS, LOADS
from compare.formatting import several
from compare.snapshots import (
    TOPIC_COUNTS,
    TOPIC_LOADS,
    compact,
    day_of,
    prune,
    remove_unfinished,
    snapshot_schema,
    write_snapshot_file,
)
from compare.watching.changes import Key, SeenGroup
from compare.watching.polling import Failure, Poll
from protocols import Queue, UserError

if TYPE_CHECKING:
    import pyarrow as pa

Owners: TypeAlias = Mapping[str, tuple[Queue, ...] | None]

MOST_WAITING = 256 * 1024 * 1024
"""Bytes of snapshots that are held in memory while the disk takes none; then the oldest is given up, and that is
said."""

LOCK = ".equipoise-watch.lock"
"""The file in the folder that the process holds which writes there; the system frees it when that process ends."""

_ROOM = 0.95
"""Part of the allowed bytes that is left when there are too many, so that not every poll has to make room."""


class Recorder:
    """Writes snapshots below ``folder`` and keeps them within ``keep_days`` days and ``keep_bytes`` bytes.

    A snapshot that cannot be written waits in memory for the next poll. ``tell`` is given one line about that.
    ``aside`` runs what takes long, which is to make one file of each day that is over: in a thread, say.
    """

    def __init__(
        self,
        folder: Path,
        keep_days: int,
        keep_bytes: int,
        tell: Callable[[str], None],
        aside: Callable[[Callable[[], None]], None] = lambda work: work(),
    ) -> None:
        self._folder, self._keep_days, self._keep_bytes, self._tell = folder, keep_days, keep_bytes, tell
        self._aside = aside
        self._compacted_on: dict[str, date] = {}
        self._waiting: deque[tuple[str, float, pa.Table]] = deque()
        self._written: dict[str, tuple[date, dict[Key, Owners]]] = {}
        self._waiting_bytes = 0
        self._bytes = 0
        self._pruned_on: date | None = None
        self._lost = 0
        self._lock: int | None = None

    def prepare(self, clusters: list[str]) -> None:
        """Make the folder, take it, and remove what killed processes left; `UserError` where nothing can be written, or
        another process writes there."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = self._taken(os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
        except OSError as error:
            raise UserError(f"--out {self._folder}: {error.strerror}, expected a writable folder") from None
        for cluster in clusters:
            remove_unfinished(self._folder, cluster)

    def polled(self, poll: Poll) -> None:
        """Write the poll, after those that still wait."""
        table = self._table(poll)
        self._waiting.append((poll.cluster, poll.at, table))
        self._waiting_bytes += table.nbytes
        while self._waiting_bytes > MOST_WAITING and len(self._waiting) > 1:
            cluster, at, table = self._waiting.popleft()
            self._waiting_bytes -= table.nbytes
            self._lost += 1
            lost = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
            self._tell(f"the snapshot of {cluster} at {lost} is given up, because too many wait to be written")
        self.flush()

    def failed(self, failure: Failure) -> None:
        """There is nothing to write but what waits."""
        self.flush()

    def flush(self) -> None:
        """Write what waits, as far as the disk takes it."""
        try:
            while self._waiting:
                cluster, at, table = self._waiting[0]
                path = write_snapshot_file(self._folder, cluster, at, table)
                self._waiting.popleft()
                self._waiting_bytes -= table.nbytes
                self._bytes += path.stat().st_size
                self._make_room(at)
                self._compact(cluster, day_of(at))
        except OSError as error:
            waiting = f"{several(len(self._waiting), 'snapshot')} in memory until the next attempt"
            self._tell(f"--out {self._folder}: {error.strerror}; {waiting}")

    def close(self) -> bool:
        """Write what waits and leave the folder to others. Says how many snapshots are lost, and returns whether none
        is."""
        self.flush()
        lost = self._lost + len(self._waiting)
        if lost:
            self._tell(f"--out {self._folder}: {several(lost, 'snapshot')} lost, because they could not be written")
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        return not lost

    def _taken(self, lock: int) -> int:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(lock, 200, 0).decode("utf-8", "replace").strip() or "another process"
            os.close(lock)
            raise UserError(
                f"--out {self._folder}: {who} writes there already, expected another folder or the end of that watch"
            ) from None
        except OSError as error:  # some file systems of networks lock nothing
            self._tell(f"--out {self._folder}: {error.strerror}: another watch in this folder would not be noticed")
        with suppress(OSError):  # a full disk; who it is, only a second watch would ask
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"process {os.getpid()} of {socket.gethostname()}\n".encode(), 0)
        return lock

    def _compact(self, cluster: str, day: date) -> None:
        """Once a day, as soon as its first snapshot is there: nothing will be added to the days before."""
        if self._compacted_on.get(cluster) == day:
            return
        self._compacted_on[cluster] = day

        def work() -> None:
            try:
                compact(self._folder, cluster, day)
            except OSError as error:
                self._tell(f"--out {self._folder}: {error.strerror}; earlier days of {cluster} stay in single files")

        self._aside(work)

    def _make_room(self, at: float) -> None:
        day = day_of(at)
        if day == self._pruned_on and self._bytes <= self._keep_bytes:
            return
        left = self._keep_bytes if self._bytes <= self._keep_bytes else int(self._keep_bytes * _ROOM)
        self._pruned_on = day
        self._bytes = prune(self._folder, at, self._keep_days, left)

    def _table(self, poll: Poll) -> "pa.Table":
        import pyarrow as pa

        day = day_of(poll.at)
        before = self._written.get(poll.cluster)
        written = before[1] if before is not None and before[0] == day else {}
        rows = [_row(poll, group, written.get(group.state.key)) for group in poll.groups]
        kept = {group.state.key: written[group.state.key] for group in poll.groups if group.state.key in written}
        told = {group.state.key: group.state.group.owners for group in poll.groups if group.state.tells_owners}
        self._written[poll.cluster] = day, kept | told
        schema = snapshot_schema()
        details = {b"equipoise.cluster": poll.cluster.encode()}
        return pa.Table.from_pylist(rows, schema.with_metadata({**schema.metadata, **details}))


def _row(poll: Poll, seen: SeenGroup, written: Owners | None) -> dict[str, object]:
    """A row of `snapshot_schema`; ``written``: the owners that stand in an earlier snapshot of the day."""
    state = seen.state
    observed, figures = state.group.observed, state.figures
    return {
        "at": round(poll.at * 1000),
        "every_s": poll.every_s,
        "system": observed.system,
        "group": observed.name,
        "mode": observed.mode,
        "kind": state.kind,
        "state": observed.state,
        "strategy": observed.strategy,
        "partial": observed.partial is not None,
        **_figures(figures, COUNTS, LOADS),
        "score": state.score,
        "distance": state.distance,
        "optimum_max": state.optimum_max,
        "moves": seen.moves,
        "rebalances": seen.rebalances,
        "joined": seen.joined,
        "left": seen.left,
        "topics": [
            {"topic": topic, **_figures(of_topic, TOPIC_COUNTS, TOPIC_LOADS)}
            for topic, of_topic in sorted(state.group.topics.items())
        ],
        "owners": _owners(seen) if state.tells_owners and state.group.owners != written else None,
        "ends": _ends(observed.ends),
    }


def _figures(
    figures: Mapping[str, float | None], counts: tuple[str, ...], loads: tuple[str, ...]
) -> dict[str, float | None]:
    of_loads = {name: None if figures.get(name) is None else float(figures[name] or 0) for name in loads}
    return {name: figures.get(name) for name in (*counts, "lag")} | of_loads


def _ends(ends: Mapping[Queue, int]) -> list[dict[str, object]]:
    """Where the queues ended: of each topic, in RocketMQ of each broker, a list by the number of the queue."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    for (topic, broker, number), end in sorted(ends.items()):
        found.setdefault((topic, broker), {})[number] = end
    return [
        {"topic": topic, "broker": broker, "offsets": [known.get(number) for number in range(max(known) + 1)]}
        for (topic, broker), known in found.items()
    ]


def _owners(seen: SeenGroup) -> list[dict[str, object]]:
    return [
        {
            "member": member,
            "queues": [{"topic": each.topic, "broker": each.broker, "number": each.number} for each in owned or ()],
        }
        for member, owned in sorted(seen.state.group.owners.items())
    ]
