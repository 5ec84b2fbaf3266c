"""`equipoise watch` on a running Kafka: a member that leaves is told and kept, and the death of the broker is borne."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from tests.compare.showing import ROOT
from tests.slow.real_kafka import VERSIONS, UnavailableError, running

library = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
pytestmark = pytest.mark.slow

LIMIT_S = 180.0


@contextmanager
def watching(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "compare", "watch", *arguments, "--every", "1s", "--format", "json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def until(process: "subprocess.Popen[str]", is_it: Any) -> dict[str, Any]:
    """The first line of which it is true."""
    assert process.stdout is not None
    for line in process.stdout:
        told: dict[str, Any] = json.loads(line)
        if is_it(told):
            return told
    raise AssertionError("watch ended")


def group_of(told: dict[str, Any]) -> dict[str, Any]:
    return next((each for each in told.get("groups", ()) if each["group"] == "billing"), {})


@pytest.mark.parametrize("version", VERSIONS)
def test_a_member_leaves_and_the_broker_dies(version: str, tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    out = tmp_path / "out"
    (tmp_path / "kafka").mkdir()
    members = []
    with ExitStack() as broker:
        try:
            kafka = broker.enter_context(running(tmp_path / "kafka", version=version))
        except UnavailableError as error:
            pytest.skip(str(error))
        client = AdminClient({"bootstrap.servers": kafka.plaintext})
        client.create_topics([NewTopic("orders", 6, 1)])["orders"].result(LIMIT_S)
        for _ in range(3):
            member = library.Consumer(
                {
                    "bootstrap.servers": kafka.plaintext,
                    "group.id": "billing",
                    "partition.assignment.strategy": "cooperative-sticky",
                }
            )
            member.subscribe(["orders"])
            members.append(member)
        ends = time.monotonic() + LIMIT_S
        while [len(member.assignment()) for member in members] != [2, 2, 2]:
            assert time.monotonic() < ends
            for member in members:
                member.poll(0.1)
        with watching(f"real=kafka://{kafka.plaintext}", "--timeout", "6", "--out", str(out)) as watch:
            first = until(watch, lambda told: group_of(told).get("members") == 3)
            assert (group_of(first)["distance"], group_of(first)["score"]) == (0, 100)
            members.pop().close()
            while [len(member.assignment()) for member in members] != [3, 3]:
                assert time.monotonic() < ends
                for member in members:
                    member.poll(0.1)
            after = until(watch, lambda told: group_of(told).get("max") == 3)
            assert group_of(after)["moves_total"] == 2
            # The members tell their generations; when one leaves, the others need one or two.
            assert 1 <= group_of(after)["rebalances_seen_total"] <= 2
            for member in members:
                member.close()
            broker.close()
            failed = until(watch, lambda told: "failed" in told)
            assert "no Kafka broker answers" in failed["failed"]
            watch.send_signal(signal.SIGTERM)
            watch.communicate(timeout=LIMIT_S)
            assert watch.returncode == 0
    rows = ds.dataset(out / "snapshots", partitioning="hive").to_table().to_pylist()
    kept = [row for row in rows if row["group"] == "billing"]
    assert sum(row["moves"] or 0 for row in kept) >= 2
    assert {len(member) for row in kept for member in [row["left"] or []]} >= {0, 1}
