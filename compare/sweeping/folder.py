"""The parts of a sweep, and its folder: ``rows/variant=.../part-....parquet``, ``done`` with one record for each file
that is whole, and ``sweep.json``, which says of which sweep they are.

The grid alone decides where a part ends, so that the files are the same whoever computes them, in however many tasks. A
file appears whole or not at all, and its record after it; whoever writes it again writes the same bytes. So a run
that was killed goes on with the parts that have no record, or whose files are not what their records say, and a task
that is tried again does no harm.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from compare.sweeping.grid import Cell, Kind, Sweep
from protocols import files
from protocols.errors import UserError

ROWS, DONE, SWEEP = "rows", "done", "sweep.json"

ROW_GROUP = 100_000
"""Rows of a file that are packed together."""


MOST_SIZE: Mapping[Kind, int] = {"allocations": 4_000_000, "simulations": 1_000, "scale": 1}
"""The size of a part, at most: some seconds of work, enough for what Spark does around it not to count."""

LEAST_SIZE = 40
"""The size of the smallest cell."""


@dataclass(frozen=True, slots=True)
class Part:
    """Cells of one variant and subscription shape: those at ``first`` to ``last`` - 1 of every stretch, so that all
    events of a group are in one part. ``size``: of all its groups together, members and queues of each topic."""

    variant: int
    number: int
    shape: int
    first: int
    last: int
    size: int

    def name(self, sweep: Sweep) -> str:
        """Its file below ``rows``, without the ending, in the layout that Spark reads as a column ``variant``."""
        return f"variant={quote(sweep.labels[self.variant], safe=' ')}/part-{self.number:05d}"

    def file(self, folder: Path, sweep: Sweep) -> Path:
        """Where its rows are, or will be."""
        return folder / ROWS / f"{self.name(sweep)}.parquet"

    def cells(self, sweep: Sweep) -> Iterator[Cell]:
        """Those that count, all of one group one after the other."""
        for offset in range(self.first, self.last):
            for event in range(len(sweep.events)):
                for latency in range(len(sweep.latencies)):
                    cell = sweep.cell(sweep.number(self.shape, event, latency, offset))
                    if cell.counts:
                        yield cell

    def most_rows(self, sweep: Sweep) -> int:
        """Its rows, and the cells that do not count."""
        return (self.last - self.first) * len(sweep.events) * len(sweep.latencies)


def parts_of(sweep: Sweep) -> tuple[Part, ...]:
    of_shape = list(_cuts(sweep))
    cuts = [(shape, *cut) for shape in range(len(sweep.subscriptions)) for cut in of_shape]
    return tuple(
        Part(variant, number, *cut) for variant in range(len(sweep.systems)) for number, cut in enumerate(cuts)
    )


def _cuts(sweep: Sweep) -> Iterator[tuple[int, int, int]]:
    """First, last + 1 and size of the parts of a stretch. Groups that differ by brokers or seeds are as large."""
    alike = len(sweep.brokers) * len(sweep.seeds)
    each = len(sweep.events) * len(sweep.latencies)
    most = MOST_SIZE[sweep.kind]
    first = last = size = 0
    for members in sweep.members:
        for topics in sweep.topics:
            for queues in sweep.queues:
                one = each * (LEAST_SIZE + topics * (members + queues))
                left = alike
                while left:
                    room = max(0, most - size) // one
                    if not room and last > first:
                        yield first, last, size
                        first, size = last, 0
                        continue
                    taken = min(left, max(1, room))
                    last, size, left = last + taken, size + taken * one, left - taken
    yield first, last, size


class DoneRecord(TypedDict):
    """What is kept of a finished part: its rows, and the size and hash of its file."""

    rows: int
    bytes: int
    sha256: str


def identity(sweep: Sweep, parts: Sequence[Part]) -> str:
    """The sweep as text: two folders hold the same rows where it is the same."""
    systems = [
        {"system": system.system, "label": system.label, "settings": system.settings} for system in sweep.systems
    ]
    events = [{"name": event.name, "events": event.events} for event in sweep.events]
    axes = {
        name: getattr(sweep, name)
        for name in ("kind", "members", "topics", "queues", "brokers", "subscriptions", "latencies", "seeds")
    }
    more = {name: getattr(sweep, name) for name in ("loads", "produce", "handle", "run_for", "event_at", "versions")}
    cut = hashlib.sha256(repr([(part.variant, part.shape, part.first) for part in parts]).encode()).hexdigest()
    told = {"name": sweep.name, **axes, "events": events, "systems": systems, **more, "parts": len(parts), "cut": cut}
    return json.dumps(told, indent=1, default=dict) + "\n"


def opened(folder: Path, sweep: Sweep, parts: Sequence[Part]) -> "Finished":
    """Make the folder, or check that it is of this sweep; what is finished there. `UserError` where it is of another
    one, or cannot be made."""
    told, path = identity(sweep, parts), folder / SWEEP
    try:
        _check_files(folder, {path, *(each for part in parts for each in _places(folder, sweep, part))})
        if path.exists():
            if path.read_text(encoding="utf-8") != told:
                raise UserError(f"--out {folder}: holds another sweep, or of an older grid, expected a new folder")
        elif folder.exists() and any(folder.iterdir()):
            raise UserError(f"--out {folder}: holds something else, expected a new folder or that of a sweep")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            files.write_text(path, told)
        return Finished(folder, sweep, parts)
    except OSError as error:
        raise UserError(f"--out {folder}: {error.strerror}, expected a writable folder") from None
    except UnicodeDecodeError:
        raise UserError(f"--out {folder}: holds something else, expected a new folder or that of a sweep") from None


def _check_files(folder: Path, expected: Collection[Path]) -> None:
    """Before anything is opened: whoever opens a pipe waits for its other end. Raises `UserError` for what is neither
    file nor folder, and for a folder in the place of a file."""
    for root, folders, names in os.walk(folder):
        odd = [Path(root, name) for name in names if not Path(root, name).is_file()]
        odd += [path for name in folders if (path := Path(root, name)) in expected]
        if odd:
            found = min(odd).relative_to(folder)
            raise UserError(f"--out {folder}: {found} is not a file, expected a new folder or that of a sweep")


def _places(folder: Path, sweep: Sweep, part: Part) -> tuple[Path, Path]:
    """The file of a part, and that of its record."""
    return part.file(folder, sweep), folder / DONE / part.name(sweep)


def write_part(folder: Path, sweep: Sweep, part: Part, table: pa.Table) -> None:
    """The rows of a part, and then its record. Raises `OSError`."""
    target, done = _places(folder, sweep, part)
    target.parent.mkdir(parents=True, exist_ok=True)
    with files.replaced(target) as beside:
        pq.write_table(table.combine_chunks(), beside, compression="zstd", row_group_size=ROW_GROUP)
        size, digest = _measured(beside)
    record: DoneRecord = {"rows": table.num_rows, "bytes": size, "sha256": digest}
    done.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(done, json.dumps(record) + "\n")


class Finished:
    """The parts of a sweep that are finished in a folder, read as they come.

    What an earlier run has left counts where its file has the digest of its record. ``damaged``: the names of parts for
    which that is not so, each with what is wrong; their records are removed. Raises `OSError`.
    """

    def __init__(self, folder: Path, sweep: Sweep, parts: Sequence[Part]) -> None:
        self.folder, self.parts = folder, parts
        self.records: dict[Part, DoneRecord] = {}
        self._waiting = {part.name(sweep): part for part in parts}
        self.damaged: dict[str, str] = {}
        for name in sorted(self._recorded()):
            wrong = _damage(_record(folder / DONE / name), self._waiting[name].file(folder, sweep))
            if wrong:
                self.damaged[name] = wrong
                (folder / DONE / name).unlink()
        self.look()

    @property
    def missing(self) -> list[Part]:
        """Those that are not finished."""
        return list(self._waiting.values())

    @property
    def rows(self) -> int:
        """Of all that are finished."""
        return sum(record["rows"] for record in self.records.values())

    def look(self) -> None:
        """See what has come."""
        for name in self._recorded():
            record = _record(self.folder / DONE / name)
            if record is not None:
                self.records[self._waiting.pop(name)] = record

    def _recorded(self) -> list[str]:
        """The names of parts that have a record and were not seen yet."""
        found: list[str] = []
        for variant in {name.partition("/")[0] for name in self._waiting}:
            with suppress(FileNotFoundError):
                found += (f"{variant}/{each}" for each in os.listdir(self.folder / DONE / variant))
        return [name for name in found if name in self._waiting]


def _record(path: Path) -> DoneRecord | None:
    """None where it cannot be read as one."""
    try:
        match json.loads(path.read_bytes()):
            case {"rows": int(rows), "bytes": int(size), "sha256": str(digest)}:
                return {"rows": rows, "bytes": size, "sha256": digest}
    except (OSError, ValueError, RecursionError):
        pass
    return None


def _damage(record: DoneRecord | None, file: Path) -> str:
    """Why a part has to be computed again; empty where its file is what its record says."""
    if record is None:
        return "its record cannot be read"
    try:
        size, digest = _measured(file)
    except FileNotFoundError:
        return "is missing"
    if size != record["bytes"]:
        return f"{size:,} bytes instead of {record['bytes']:,}"
    return "" if digest == record["sha256"] else "changed: another SHA-256 than recorded"


def _measured(file: Path) -> tuple[int, str]:
    """Size and hash. Raises `OSError`."""
    with file.open("rb") as opened_file:
        digest = hashlib.file_digest(opened_file, "sha256").hexdigest()
        return opened_file.tell(), digest
