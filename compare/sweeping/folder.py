"""The folder of a sweep: ``rows/variant=.../part-....parquet``, ``done`` with one record for each file that is whole,
and ``sweep.json``, which says of which sweep they are.

A file appears whole or not at all, and its record after it; whoever writes it again writes the same bytes. So a run
that was killed goes on with the parts that have no record, and a task that is tried again does no harm.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

import pyarrow as pa
import pyarrow.parquet as pq

from compare.sweeping.grid import Sweep
from compare.sweeping.parts import Part
from protocols import files
from protocols.errors import UserError

ROWS, DONE, SWEEP = "rows", "done", "sweep.json"

ROW_GROUP = 100_000
"""Rows of a file that are packed together."""


class DoneRecord(TypedDict):
    """What is kept of a finished part: its rows, and the size and hash of its file."""

    rows: int
    bytes: int
    sha256: str


def identity(sweep: Sweep, parts: Sequence[Part]) -> str:
    """The sweep as text: two folders hold the same rows where it is the same."""
    systems = [{"system": each.system, "label": each.label, "settings": each.settings} for each in sweep.systems]
    events = [{"name": each.name, "events": each.events} for each in sweep.events]
    axes = {
        name: getattr(sweep, name)
        for name in ("kind", "members", "topics", "queues", "brokers", "subscriptions", "latencies", "seeds")
    }
    more = {name: getattr(sweep, name) for name in ("loads", "produce", "handle", "run_for", "event_at")}
    cut = hashlib.sha256(repr([(each.variant, each.first, each.native) for each in parts]).encode()).hexdigest()
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
