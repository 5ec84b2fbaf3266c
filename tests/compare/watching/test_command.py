"""`equipoise watch` as a user runs it: files that change, signals, a scrape, bad input."""

import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import pytest

from compare.watching.recording import LOCK
from tests.compare.reading.fake_rocketmq import serving
from tests.compare.reading.test_rocketmq_live import Cluster
from tests.compare.showing import EXAMPLES, ROOT, equipoise

LIMIT_S = 60.0


@contextmanager
def watching(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "compare", "watch", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.kill()


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


def wait_for_snapshots(folder: Path, count: int) -> None:
    until = time.monotonic() + LIMIT_S
    while len(list(folder.rglob("*.parquet"))) < count:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly_and_the_last_snapshot_is_complete(how: signal.Signals, tmp_path: Path) -> None:
    with watching(str(EXAMPLES / "kafka"), "--every", "100ms", "--out", str(tmp_path)) as running:
        wait_for_snapshots(tmp_path, 3)
        running.send_signal(how)
        output, errors = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, errors) == (0, "")
    files = sorted(tmp_path.rglob("*.parquet"))
    rows = [pq.ParquetFile(path).read().num_rows for path in files]
    assert len(set(rows)) == 1
    assert rows[0] > 5
    assert [path.name for path in tmp_path.rglob(".*")] == [LOCK]
    assert len([line for line in output.splitlines() if "less fair than possible" in line]) == len(files)


def test_a_signal_ends_the_reading_of_a_silent_cluster(tmp_path: Path) -> None:
    with ExitStack() as stack:
        silent = f"rocketmq://{stack.enter_context(serving(lambda code, fields: None))}"
        running = stack.enter_context(watching(silent, str(EXAMPLES / "kafka"), "--out", str(tmp_path)))
        wait_for_snapshots(tmp_path, 1)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=10)
    assert running.returncode == 0


def test_files_are_read_again_and_changes_are_told(tmp_path: Path) -> None:
    cluster, out = tmp_path / "prod", tmp_path / "out"
    cluster.mkdir()
    before = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
    (cluster / "members.txt").write_text(before + "g c1 /h c 2 t(0,1)\ng c2 /h c 2 t(2,3)\n", encoding="utf-8")
    with watching(str(cluster), "--every", "200ms", "--out", str(out), "--format", "json") as running:
        first = json.loads(line_of(running.stdout))
        assert (first["cluster"], first["poll"], first["changes"]) == ("prod", 1, [])
        assert (first["groups"][0]["max"], first["groups"][0]["distance"]) == (2, 0)
        staged = tmp_path / "next.txt"
        staged.write_text(before + "g c1 /h c 3 t(0,1,2)\ng c2 /h c 1 t(3)\n", encoding="utf-8")
        os.replace(staged, cluster / "members.txt")
        told = json.loads(line_of(running.stdout))
        while not told["changes"]:
            told = json.loads(line_of(running.stdout))
        assert told["changes"][0]["moved"] == [["t", "", 2, "c2", "c1"]]
        (cluster / "members.txt").unlink()
        while "failed" not in told:
            told = json.loads(line_of(running.stdout))
        assert "contains no file" in told["failed"]
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0


def test_a_live_cluster_is_polled_and_scraped(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="the extra watch is not installed")
    parser = pytest.importorskip("prometheus_client.parser")
    with ExitStack() as stack:
        cluster = Cluster({"m1": [("broker-a", 0), ("broker-a", 1)], "m2": []})
        cluster.brokers["broker-a"] = stack.enter_context(serving(cluster.broker("broker-a")))
        server = stack.enter_context(serving(cluster.name_server))
        options = ("--every", "200ms", "--out", str(tmp_path), "--prometheus", "127.0.0.1:0")
        running = stack.enter_context(watching(f"eu=rocketmq://{server}", *options))
        address = line_of(running.stderr).removeprefix("figures for Prometheus: ").strip()
        wait_for_snapshots(tmp_path, 2)
        cluster.members = {"m1": [("broker-a", 0)], "m2": [("broker-a", 1)]}
        samples: dict[str, float] = {}
        until = time.monotonic() + LIMIT_S
        while samples.get("equipoise_group_moves_total") != 1:
            assert time.monotonic() < until
            text = urllib.request.urlopen(address, timeout=10).read().decode()
            families = list(parser.text_string_to_metric_families(text))
            samples = {sample.name: sample.value for family in families for sample in family.samples}
        assert samples["equipoise_group_idle_members"] == 0
        assert samples["equipoise_group_score"] == 100
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0
    assert "rocketmq group g: better: idle members 1 -> 0" in output
    assert {path.parent.name for path in tmp_path.rglob("*.parquet")} == {"cluster=eu"}


def test_a_terminal_gets_a_table(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "compare", "watch", str(EXAMPLES / "kafka"), "--polls", "2"]
    options = ["--every", "200ms", "--out", str(tmp_path)]
    environment = {**os.environ, "COLUMNS": "180", "LINES": "40", "TERM": "xterm"}
    with subprocess.Popen([*command, *options], cwd=ROOT, env=environment, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # nobody writes any more
                break
            if not more:
                break
            shown += more
        assert running.wait(LIMIT_S) == 0
    os.close(ours)
    text = shown.decode()
    assert "max/mean" in text
    assert "rebalances" in text
    assert "less fair than possible" in text


def test_polls_that_find_nothing_end_with_2(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("nothing of any tool\n", encoding="utf-8")
    done = equipoise(
        "watch", str(tmp_path / "empty.txt"), "--polls", "2", "--every", "100ms", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert "files: cannot be read (once): no view of a known tool" in first
    assert "(2 times in a row)" in second


def test_what_a_full_disk_does_not_take_is_told_as_lost(tmp_path: Path) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    command = [sys.executable, "-m", "compare", "watch", str(EXAMPLES / "kafka"), "--polls", "2", "--every", "100ms"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], cwd=ROOT, preexec_fn=small_files, capture_output=True, text=True, timeout=60
    )
    *_, last = done.stderr.splitlines()
    assert last == f"--out {tmp_path}: 2 snapshots lost, because they could not be written"
    assert done.returncode == 1
    assert list(tmp_path.rglob("*.parquet")) == []


def test_two_watches_in_one_folder_notice_each_other_and_a_dead_one_is_in_nobodys_way(tmp_path: Path) -> None:
    once = ("watch", str(EXAMPLES / "kafka"), "--polls", "1", "--out", str(tmp_path))
    with watching(str(EXAMPLES / "kafka"), "--out", str(tmp_path)) as running:
        wait_for_snapshots(tmp_path, 1)
        second = equipoise(*once)
        assert second.returncode == 2
        (line,) = second.stderr.splitlines()
        assert f"--out {tmp_path}: process {running.pid} of " in line
        assert "writes there already" in line
        running.kill()
        running.communicate(timeout=LIMIT_S)
    assert equipoise(*once).returncode == 0


def test_bad_options_are_one_line(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for options, told in [
        (["--every", "30"], "--every: "),
        (["--every", "0s"], "--every 0s: expected a time from 100ms to 7d"),
        (["--prometheus", "nowhere"], None),
        (["--prometheus", "a:b:c"], "--prometheus a:b:c: expected HOST:PORT"),
        (["--command-config", "x.properties"], "--command-config x.properties: applies only to"),
        (["--timeout", "nan"], "--timeout nan"),
    ]:
        with subtests.test(options=options, told=told):
            done = equipoise("watch", str(EXAMPLES / "kafka"), "--polls", "1", "--out", str(tmp_path), *options)
            assert done.returncode == 2
            (line,) = done.stderr.splitlines()
            assert line.startswith("equipoise: " + (told or "--prometheus nowhere:9308: "))


def test_without_arrow_one_line_says_what_to_install(tmp_path: Path) -> None:
    blocked = tmp_path / "sitecustomize.py"
    blocked.write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name == 'pyarrow' else find(name, package)\n",
        encoding="utf-8",
    )
    shutil.copy(EXAMPLES / "kafka" / "all-groups.offsets.txt", tmp_path / "a.txt")
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    command = [sys.executable, "-m", "compare", "watch", str(tmp_path / "a.txt"), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr == (
        "equipoise: watch needs the package pyarrow, expected after: pip install 'equipoise[watch]'\n"
    )
