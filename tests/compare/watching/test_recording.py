"""Snapshots: every poll is one, other readers than ours read them, they appear whole and stay within bounds."""

import errno
import math
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from compare.auditing.group_figures import judge
from compare.figures import FIGURES
from compare.reading.gather import gather
from compare.snapshots import prune, snapshot_files, snapshot_schema, write_snapshot_file
from compare.watching import recording
from compare.watching.polling import Source, Watch
from compare.watching.recording import Recorder
from compare.watching.world import run
from protocols import Queue, UserError
from tests.compare.observed_groups import partitions
from tests.compare.showing import CAPTURES
from tests.compare.watching.virtual import START, Answer, Diary, VirtualWorld, group

SIX = partitions("orders", *range(6))
EVEN = group("g", {"a": SIX[:3], "b": SIX[3:]}, SIX)
MOVED = group("g", {"a": SIX[:2], "b": SIX[2:]}, SIX)
DAY_S = 86_400


def recorded(folder: Path, world: VirtualWorld, *, keep_days: int = 35, keep_bytes: int = 10**9) -> list[str]:
    told: list[str] = []
    recorder = Recorder(folder, keep_days, keep_bytes, told.append)
    recorder.prepare(["a"])
    run(Watch([Source("a", ("a",))], 30.0, START), world, [recorder])
    recorder.flush()
    return told


def rows(folder: Path) -> list[dict[str, Any]]:
    table = ds.dataset(folder / "snapshots", partitioning="hive").to_table()
    found: list[dict[str, Any]] = table.sort_by([("cluster", "ascending"), ("at", "ascending")]).to_pylist()
    return found


def test_every_poll_is_a_file_that_others_read(tmp_path: Path) -> None:
    def answers(name: str, at: float) -> Answer:
        return [EVEN if at < START + 60 else MOVED]

    recorded(tmp_path, VirtualWorld(answers, START + 100))
    names = sorted(path.name for path in (tmp_path / "snapshots/day=2026-11-22/cluster=a").iterdir())
    assert names == [f"20261122T0000{second}.000Z.parquet" for second in ("00", "30")] + [
        f"20261122T0001{second}.000Z.parquet" for second in ("00", "30")
    ]
    found = rows(tmp_path)
    assert [row["at"] for row in found] == [datetime.fromtimestamp(START + 30 * n, UTC) for n in range(4)]
    assert {(row["cluster"], str(row["day"]), row["every_s"]) for row in found} == {("a", "2026-11-22", 30.0)}
    assert [row["moves"] for row in found] == [None, 0, 1, 0]
    assert [row["distance"] for row in found] == [0, 0, 1, 1]
    assert [row["owners"] is not None for row in found] == [True, False, True, False], "owners only where they changed"
    assert {owner["member"]: len(owner["queues"]) for owner in found[2]["owners"]} == {"a": 2, "b": 4}
    assert found[2]["topics"][0]["max_over_mean"] == found[2]["max_over_mean"] == 4 / 3
    schema = pq.read_schema(next((tmp_path / "snapshots").rglob("*.parquet")))
    assert schema.metadata[b"equipoise.snapshot"] == b"1"
    assert schema.equals(snapshot_schema())


def test_figures_are_those_of_the_audit_for_all_captures(tmp_path: Path) -> None:
    source = [str(CAPTURES / "kafka/groups")]
    groups = gather(source).groups
    recorded(tmp_path, VirtualWorld(lambda name, at: groups, START + 10))
    found = {row["group"]: row for row in rows(tmp_path)}
    audited = judge(groups)
    assert len(audited) > 5
    for each in audited:
        row = found[each.observed.name]
        for name in (*FIGURES, "lag"):
            assert row[name] == each.figures[name]
        assert {topic["topic"] for topic in row["topics"]} == set(each.topics)
        ends = {
            Queue(of["topic"], of["broker"], number): end
            for of in row["ends"]
            for number, end in enumerate(of["offsets"])
            if end is not None
        }
        assert ends == each.observed.ends
    assert sum(len(each.observed.ends) for each in audited) > 100


def test_each_day_begins_with_all_owners(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 35, 10**9, print)
    diary = Diary()
    world = VirtualWorld(lambda name, at: [EVEN], START + DAY_S + 50_000)
    run(Watch([Source("a", ("a",))], 40_000.0, START), world, [diary, recorder])
    days = [(str(row["day"]), row["owners"] is not None) for row in rows(tmp_path)]
    assert days == [("2026-11-22", True), ("2026-11-22", False), ("2026-11-22", False), ("2026-11-23", True)]


def test_old_days_and_too_many_bytes_go_first(tmp_path: Path) -> None:
    table = snapshot_schema().empty_table()
    for day in range(5):
        for cluster in ("a", "b"):
            write_snapshot_file(tmp_path, cluster, START + day * DAY_S, table)
    other = tmp_path / "snapshots/day=2026-11-22/mine.txt"
    other.write_text("kept")
    size = next(snapshot_files(tmp_path)).size
    left = prune(tmp_path, START + 4 * DAY_S, 3, 10**9)
    assert (len(list(snapshot_files(tmp_path))), left) == (6, 6 * size)
    assert other.exists(), "what is not ours stays"
    assert not (tmp_path / "snapshots/day=2026-11-23").exists()
    prune(tmp_path, START + 4 * DAY_S, 3, 2 * size)
    assert [(each.cluster, str(each.day)) for each in snapshot_files(tmp_path)] == [
        ("a", "2026-11-26"),
        ("b", "2026-11-26"),
    ]
    prune(tmp_path, START + 4 * DAY_S, 3, 0)
    assert len(list(snapshot_files(tmp_path))) == 1, "the newest stays"


def test_watching_stays_within_its_bytes(tmp_path: Path) -> None:
    world = VirtualWorld(lambda name, at: [EVEN], START + 30 * 100)
    recorded(tmp_path, world, keep_bytes=200_000)
    sizes = [each.size for each in snapshot_files(tmp_path)]
    assert 100_000 < sum(sizes) <= 200_000
    assert len(sizes) < 100


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    recorder_told: list[str] = []
    recorder = Recorder(tmp_path, 35, 10**9, recorder_told.append)
    diary = Diary()
    run(Watch([Source("a", ("a",))], 30.0, START), VirtualWorld(lambda name, at: [EVEN], START + 100), [diary])
    with monkeypatch.context() as patched:
        patched.setattr(pq, "write_table", full)
        for poll in diary.polls[:2]:
            recorder.polled(poll)
        patched.setattr(recording, "MOST_WAITING", 1)
        lossy = Recorder(tmp_path, 35, 10**9, recorder_told.append)
        for poll in diary.polls[:3]:
            lossy.polled(poll)
        assert sum("is given up, because too many wait" in line for line in recorder_told) == 2
        assert not lossy.close()
        assert recorder_told.pop() == f"--out {tmp_path}: 3 snapshots lost, because they could not be written"
        del recorder_told[2:]
    assert recorder_told[-1] == (
        f"--out {tmp_path}: No space left on device; 2 snapshots in memory until the next attempt"
    )
    assert not any(snapshot_files(tmp_path))
    for poll in diary.polls[2:]:
        recorder.polled(poll)
    assert recorder.close()
    assert len(rows(tmp_path)) == 4
    assert list(tmp_path.rglob(".equipoise*")) == []


def test_an_interrupted_write_leaves_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(table: object, file: Any, **_: object) -> None:
        file.write(b"PAR1half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_snapshot_file(tmp_path, "a", START, snapshot_schema().empty_table())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    place = write_snapshot_file(tmp_path, "a", START, snapshot_schema().empty_table()).parent
    (place / ".equipoise-999999999-0.part").write_text("half")
    alive = place / f".equipoise-{os.getpid()}-0.part"
    alive.write_text("being written")
    Recorder(tmp_path, 35, 10**9, print).prepare(["a"])
    assert sorted(path.name for path in place.iterdir() if path.name.startswith(".")) == [alive.name]


def test_two_snapshots_of_one_moment_are_two_files(tmp_path: Path) -> None:
    table = snapshot_schema().empty_table()
    first, second = (write_snapshot_file(tmp_path, "a", START, table) for _ in range(2))
    assert first != second
    assert [each.path for each in snapshot_files(tmp_path)] == sorted([first, second])


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--out .*file/out: Not a directory, expected a writable folder"):
        Recorder(tmp_path / "file" / "out", 1, 1, print).prepare(["a"])


def test_unknown_figures_are_null(tmp_path: Path) -> None:
    untold = replace(EVEN, members=None, member_count=2)
    recorded(tmp_path, VirtualWorld(lambda name, at: [untold], START + 10))
    (row,) = rows(tmp_path)
    assert (row["members"], row["jain"], row["score"], row["moves"], row["owners"]) == (2, None, None, None, None)
    assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())
