"""The parts of a sweep, and its folder: ``rows/variant=.../part-....parquet``, ``done`` with one record for each file
that is whole, and ``sweep.json``, which says of which sweep they are.

The grid alone decides where a part ends, so that the files are the same whoever computes them, in however many tasks. A
file appears whole or not at all, and its record after it; whoever writes it again writes the same bytes. So a run
that was killed goes on with the parts that have no record, and a task that is tried again does no harm.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from compare.sweeping.grid import Cell, Kind, Sweep
from protocols import files
from protocols.errors import UserError

ROWS, DONE, SWEEP = "rows", "done", "sweep.json"

ROW_GROUP = 100_000
"""Rows of a file that are packed together."""


MOST_SIZE: Mapping[Kind, int] = {"allocations": 4_000_000, "simulations": 1_000}
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
    more = {name: getattr(sweep, name) for name in ("loads", "produce", "handle", "run_for", "event_at")}
    cut = hashlib.sha256(repr([(part.variant, part.shape, part.first) for part in parts]).encode()).hexdigest()
    told = {"name": sweep.name, **axes, "events": events, "systems": systems, **more, "parts": len(parts), "cut": cut}
    return json.dumps(told, indent=1, default=dict) + "\n"


def opened(folder: Path, sweep: Sweep, parts: Sequence[Part]) -> None:
    """Make the folder, or check that it is of this sweep; `UserError` where it is not, or cannot be made."""
    told, path = identity(sweep, parts), folder / SWEEP
    try:
        if path.exists():
            if path.read_text(encoding="utf-8") != told:
                raise UserError(f"--out {folder}: holds another sweep, or of an older grid, expected a new folder")
            return
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"--out {folder}: holds something else, expected a new folder or that of a sweep")
        folder.mkdir(parents=True, exist_ok=True)
        files.write_text(path, told)
    except OSError as error:
        raise UserError(f"--out {folder}: {error.strerror}, expected a writable folder") from None


def write_part(folder: Path, sweep: Sweep, part: Part, table: pa.Table) -> None:
    """The rows of a part, and then its record. Raises `OSError`."""
    name = part.name(sweep)
    target = folder / ROWS / f"{name}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    with files.replaced(target) as beside:
        pq.write_table(table.combine_chunks(), beside, compression="zstd", row_group_size=ROW_GROUP)
        data = beside.read_bytes()
        record: DoneRecord = {
            "rows": table.num_rows,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    done = folder / DONE / name
    done.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(done, json.dumps(record) + "\n")


class Finished:
    """The records of the parts that are finished, read as they come."""

    def __init__(self, folder: Path, sweep: Sweep, parts: Sequence[Part]) -> None:
        self._folder = folder
        self._waiting = {part.name(sweep): part for part in parts}
        self.records: dict[Part, DoneRecord] = {}

    def look(self) -> None:
        """See what has come."""
        for variant in {name.partition("/")[0] for name in self._waiting}:
            try:
                there = os.listdir(self._folder / DONE / variant)
            except FileNotFoundError:
                continue
            for each in there:
                name = f"{variant}/{each}"
                if name in self._waiting and (record := self._record(name)) is not None:
                    self.records[self._waiting.pop(name)] = record

    def _record(self, name: str) -> DoneRecord | None:
        """None where the record or its file is not whole."""
        try:
            record = json.loads((self._folder / DONE / name).read_bytes())
            whole = (self._folder / ROWS / f"{name}.parquet").stat().st_size == record["bytes"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return cast(DoneRecord, record) if whole else None
