"""Days that are over become one file each, and no crash on the way counts a snapshot twice or loses it."""

import shutil
from datetime import date
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from compare.snapshots import compact, snapshot_files, superseded
from compare.watching.polling import Source, Watch
from compare.watching.recording import Recorder
from compare.watching.world import run
from tests.compare.observed_groups import partitions
from tests.compare.watching.virtual import START, VirtualWorld, group

SIX = partitions("orders", *range(6))
GROUPS = [group("g", {"a": SIX[:3], "b": SIX[3:]}, SIX), group("h", {"a": SIX, "b": ()}, SIX)]
HOURS = 30
TODAY = date(2026, 11, 23)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A day of hourly polls, and six hours of the next day, as they are before anything is put together."""
    recorder = Recorder(tmp_path, 35, 10**9, print, lambda work: None)
    world = VirtualWorld(lambda name, at: GROUPS, START + HOURS * 3600 - 1)
    run(Watch([Source("a", ("a",))], 3600.0, START), world, [recorder])
    return tmp_path


def rows(folder: Path) -> list[object]:
    table = ds.dataset(folder / "snapshots", partitioning="hive").to_table()
    found: list[object] = table.sort_by([("at", "ascending"), ("group", "ascending")]).to_pylist()
    return found


def names(folder: Path) -> list[str]:
    return [each.path.name for each in snapshot_files(folder)]


def test_a_day_becomes_one_file_with_all_its_rows(folder: Path) -> None:
    before = rows(folder)
    assert len(before) == 2 * HOURS
    assert compact(folder, "a", TODAY) == 24
    assert rows(folder) == before
    assert names(folder)[0] == "20261122T000000.000Z--20261122T230000.000Z.parquet"
    assert len(names(folder)) == 1 + 6, "today's snapshots stay"
    day = next(snapshot_files(folder)).path
    assert pq.read_metadata(day).metadata[b"equipoise.snapshot"] == b"1"
    assert pq.read_table(day, columns=["group"])["group"].to_pylist() == ["g"] * 24 + ["h"] * 24
    assert compact(folder, "a", TODAY) == 0
    assert compact(folder, "b", date(2027, 1, 1)) == 0


def test_watching_puts_a_day_together_when_the_next_begins(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 35, 10**9, print)
    world = VirtualWorld(lambda name, at: GROUPS, START + HOURS * 3600 - 1)
    run(Watch([Source("a", ("a",))], 3600.0, START), world, [recorder])
    assert len(names(tmp_path)) == 1 + 6
    assert len(rows(tmp_path)) == 2 * HOURS


def test_a_crash_between_writing_and_removing_counts_nothing_twice(folder: Path, tmp_path: Path) -> None:
    singles = [each.path for each in snapshot_files(folder) if each.day < TODAY]
    kept = tmp_path / "kept"
    kept.mkdir()
    for path in singles:
        shutil.copy(path, kept)
    compact(folder, "a", TODAY)
    for path in singles[3:]:
        shutil.copy(kept / path.name, path)
    files = list(snapshot_files(folder))
    assert superseded(files) == set(singles[3:])
    assert compact(folder, "a", TODAY) == 21
    assert len(rows(folder)) == 2 * HOURS


def test_a_late_snapshot_of_a_finished_day_is_kept(folder: Path) -> None:
    day = [each.path for each in snapshot_files(folder) if each.day < TODAY]
    before = rows(folder)
    late, beyond = day[3].read_bytes(), day[23].read_bytes()
    day[3].unlink()
    day[23].unlink()
    assert compact(folder, "a", TODAY) == 22
    for path, text in ((day[3], late), (day[23], beyond)):
        path.write_bytes(text)
        assert superseded(list(snapshot_files(folder))) == set()
        whole = next(each.path for each in snapshot_files(folder) if each.is_of_day)
        copy = whole.read_bytes()
        assert compact(folder, "a", TODAY) == 2, "the next day it is put to the others"
        if not whole.exists():  # as if the process had died before it removed the old file
            whole.write_bytes(copy)
            path.write_bytes(text)
            assert superseded(list(snapshot_files(folder))) == {whole, path}
            assert compact(folder, "a", TODAY) == 2
    assert rows(folder) == before
    assert names(folder)[0] == "20261122T000000.000Z--20261122T230000.000Z.parquet"


def test_snapshots_of_an_earlier_version_are_put_to_the_others(folder: Path) -> None:
    path = next(snapshot_files(folder)).path
    pq.write_table(pq.ParquetFile(path).read().drop_columns(["rebalances"]), path)
    assert compact(folder, "a", TODAY) == 24


def test_a_day_with_a_damaged_file_stays_as_it_is(folder: Path) -> None:
    path = next(snapshot_files(folder)).path
    path.write_bytes(path.read_bytes()[:-100])
    before = names(folder)
    assert compact(folder, "a", TODAY) == 0
    assert names(folder) == before
    assert list(folder.rglob(".equipoise*")) == []


def test_a_file_with_a_changed_byte_is_noticed(folder: Path) -> None:
    path = next(snapshot_files(folder)).path
    text = bytearray(path.read_bytes())
    text[40] ^= 0xFF
    path.write_bytes(bytes(text))
    assert compact(folder, "a", TODAY) == 0
