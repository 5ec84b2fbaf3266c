"""A sweep on a cluster of two worker processes, one of which is killed in the middle: the bytes are the same."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compare.figures.spark.sessions import spark_java_home
from compare.sweeping import folder
from compare.sweeping.folder import parts_of, write_part
from compare.sweeping.reading import read_text
from compare.sweeping.running import table_of

GRID = """\
name: on two machines
kind: simulations
members: 3
topics: 1
queues: 6
events: [crash]
systems: [kafka:range, rocketmq:AVG]
seeds: 0..9
produce: 5/s
"""
MOST_S = 500
MOST_SIZE = 130
"""Parts are small, so that some are missing when the first one is finished."""


def children(pid: int) -> Iterator[int]:
    """All processes below one, as /proc has them; threads and processes may end while we look."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = file.read_text().split()
        except OSError:
            continue
        for child in found:
            yield int(child)
            yield from children(int(child))


def executors(pid: int) -> list[int]:
    """The processes of Spark's executors below one."""
    found = []
    for child in children(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command:
            found.append(child)
    return sorted(found)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_a_worker_that_is_killed_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "sweep.yaml", tmp_path / "out"
    file.write_text(GRID)
    monkeypatch.setitem(folder.MOST_SIZE, "simulations", MOST_SIZE)
    sweep = read_text(GRID).sweep
    parts = parts_of(sweep)
    assert len(parts) > 6
    environment = os.environ | {
        "SPARK_MASTER": "local-cluster[2,1,1024]",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(spark_java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment.pop("PYTHONPATH", None)
    # Only the driver is told where the source is: workers have the package that is sent to them.
    source = str(Path(__file__).parents[3])
    start = f"import sys; sys.path.insert(0, {source!r}); from compare.sweeping import folder;"
    start += f" folder.MOST_SIZE['simulations'] = {MOST_SIZE}; from compare.cli import main; main()"
    arguments = ("sweep", str(file), "--out", str(out), "--engine", "spark", "--format", "json")
    command = [sys.executable, "-c", start, *arguments]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        try:
            killed = _kill_one_in_the_middle(running, out)
            told, _ = running.communicate(timeout=MOST_S)
        finally:
            running.kill()
    assert running.returncode == 0
    assert killed
    assert '"rows": 20' in told
    for part in parts:
        write_part(tmp_path / "plain", sweep, part, table_of(sweep, part))
        name = f"rows/{part.name(sweep)}.parquet"
        assert (out / name).read_bytes() == (tmp_path / "plain" / name).read_bytes(), name


def _kill_one_in_the_middle(running: "subprocess.Popen[str]", out: Path) -> bool:
    """Kill one of the two executors as soon as a part is finished; whether there were two, and parts were missing."""
    until = time.monotonic() + MOST_S
    while time.monotonic() < until and running.poll() is None:
        done = list((out / "done").rglob("part-*")) if out.exists() else []
        there = executors(running.pid)
        if done and len(there) == 2:
            os.kill(there[0], signal.SIGKILL)
            return len(done) < len(parts_of(read_text(GRID).sweep))
        time.sleep(0.2)
    return False
