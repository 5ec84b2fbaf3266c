"""Whatever ends a command, nothing that it started stays: no worker, no JVM, no pipe that a reader waits at."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.compare.showing import CAPTURES, ROOT

PROC = Path("/proc")
STARTS_S, ENDS_S = 60.0, 20.0
STARTED_CPU_S = 1.0
"""After so much work of its processor a verb is at its own."""

pytestmark = [
    pytest.mark.skipif(not (PROC / "self/task").is_dir(), reason="processes are looked up in Linux's /proc"),
]

ROLLING = "examples/scenarios/rolling-restart.yaml"
COMPARING = ("compare", ROLLING, "--system", "kafka:range", "--seeds", "20000")
PLAYING = ("conformance", str(CAPTURES / "kafka/traces"), str(CAPTURES / "rocketmq/traces"))
SEVERAL = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor works in one process")


def children(of: int) -> set[int]:
    """The processes that this one and its descendants have started."""
    found: set[int] = set()
    for listed in PROC.glob(f"{of}/task/*/children"):
        with suppress(OSError):
            found |= set(map(int, listed.read_text().split()))
    return found.union(*map(children, found)) if found else found


def lives(process: int) -> bool:
    try:
        state = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def name(process: int) -> str:
    try:
        return (PROC / str(process) / "comm").read_text().strip()
    except OSError:
        return ""


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "compare", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            yield running
        finally:
            for process in (*children(running.pid), running.pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


def wait_for_children(running: subprocess.Popen[bytes], count: int, called: str) -> set[int]:
    """All that it has started, as soon as so many of them have this name."""
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until and running.poll() is None:
        found = children(running.pid)
        if sum(called in name(each) for each in found) >= count:
            time.sleep(0.5)
            return found | children(running.pid)
        time.sleep(0.05)
    raise AssertionError(f"{running.args!r} started no {count} {called}")


def end(running: subprocess.Popen[bytes], how: signal.Signals, started_by_it: set[int]) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and error; fails where something stays or a stream has no end."""
    running.send_signal(how)
    out, error = running.communicate(timeout=ENDS_S)
    until = time.monotonic() + ENDS_S
    while (left := [each for each in started_by_it if lives(each)]) and time.monotonic() < until:
        time.sleep(0.05)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert not left
    return running.returncode, out, error


@SEVERAL
@pytest.mark.parametrize("arguments", [COMPARING, PLAYING], ids=["compare", "conformance"])
def test_sigterm_leaves_no_worker_and_no_open_pipe(arguments: tuple[str, ...]) -> None:
    with started(*arguments) as running:
        workers = wait_for_children(running, 2, "python")
        code, _, error = end(running, signal.SIGTERM, workers)
    assert code == 143
    assert error.decode().splitlines()[-1] == "equipoise: ended by SIGTERM"
    assert b"Traceback" not in error


@pytest.mark.parametrize(
    "arguments",
    [
        ("explore", ROLLING, "--random-runs", "0"),
        ("plan", ROLLING, "--to", "static", "--from", "kafka:range", "--seeds", "10000"),
        ("logs", "-"),
        ("audit", "-"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_sigterm_is_one_line_of_verbs_that_work_alone(arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    command = [sys.executable, "-m", "compare", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        until = time.monotonic() + STARTS_S
        while cpu_s(running.pid) < STARTED_CPU_S and time.monotonic() < until:
            time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        _, error = running.communicate(timeout=ENDS_S)
    os.close(read)
    os.close(write)
    assert running.returncode == 143
    assert error.decode().splitlines()[-1] == "equipoise: ended by SIGTERM"
    assert b"Traceback" not in error


def cpu_s(process: int) -> float:
    """Seconds of processor time that it has used."""
    used = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


@SEVERAL
@pytest.mark.parametrize("arguments", [COMPARING, PLAYING], ids=["compare", "conformance"])
def test_the_death_of_the_parent_leaves_no_worker_and_no_open_pipe(arguments: tuple[str, ...]) -> None:
    with started(*arguments) as running:
        workers = wait_for_children(running, 2, "python")
        code, *_ = end(running, signal.SIGKILL, workers)
    assert code == -signal.SIGKILL


@SEVERAL
def test_a_worker_that_is_killed_is_one_line() -> None:
    with started(*COMPARING) as running:
        workers = wait_for_children(running, 2, "python")
        os.kill(min(workers), signal.SIGKILL)
        _, error = running.communicate(timeout=ENDS_S)
    assert running.returncode == 2
    assert "parallel processes was killed, expected enough memory" in error.decode().splitlines()[-1]
    assert b"Traceback" not in error


@SEVERAL
def test_after_sigterm_what_is_finished_is_told(tmp_path: Path) -> None:
    quick, long = tmp_path / "quick.yaml", ROOT / "examples/scenarios/rolling-restart.yaml"
    quick.write_text(
        "name: quick\ntopics: {orders: 2}\ngroup: {name: g, members: {c1: {subscribe: [orders]}}}\nrun: {for: 10s}\n"
    )
    asked = ("compare", str(quick), str(long), "--system", "kafka:range", "--seeds", "300")
    with started(*asked) as running:
        assert running.stderr is not None
        # Standard error counts the runs of both in their order: those of the first scenario are the first half.
        for line in running.stderr:
            if line.startswith(b"360 of 600 runs"):
                break
        code, out, _ = end(running, signal.SIGTERM, children(running.pid))
    assert code == 143
    assert b"quick" in out
    assert b"rolling" in out
    assert b" of 300 seeds (" in out or b" of 300 seeds," in out


GRID = """\
name: long
kind: simulations
members: 3
topics: 1
queues: 6
events: crash
systems: [kafka:range]
seeds: 0..9999
produce: 5/s
"""


def marked(mark: str) -> dict[int, str]:
    """All processes that have this in their environment, whoever their parent is now, with their commands."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes() and lives(int(folder.name)):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


@pytest.mark.parametrize(
    ("how", "at"),
    [
        (signal.SIGKILL, "pyspark.daemon"),
        pytest.param(signal.SIGTERM, "pyspark.daemon", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "org.apache.spark.launcher.Main", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "org.apache.spark.deploy.SparkSubmit", marks=pytest.mark.slow),
    ],
)
def test_no_jvm_and_no_worker_of_spark_stays(
    how: signal.Signals, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"EQUIPOISE_TEST={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    (tmp_path / "grid.yaml").write_text(GRID)
    with started("sweep", str(tmp_path / "grid.yaml"), "--out", str(tmp_path / "out"), "--engine", "spark") as running:
        until = time.monotonic() + 3 * STARTS_S  # a JVM on a busy machine
        while not any(at in command for command in marked(mark).values()) and time.monotonic() < until:
            time.sleep(0.02)
        assert any(at in command for command in marked(mark).values())
        if at == "pyspark.daemon":
            time.sleep(1.0)  # its workers are at work
        running.send_signal(how)
        _, error = running.communicate(timeout=ENDS_S)
        until = time.monotonic() + ENDS_S
        while (left := marked(mark)) and time.monotonic() < until:
            time.sleep(0.1)
        for process in left:
            os.kill(process, signal.SIGKILL)
        assert not left
    assert running.returncode == (-signal.SIGKILL if how is signal.SIGKILL else 143)
    assert b"Traceback" not in error
