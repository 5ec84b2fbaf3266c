"""No frame ends the process of a served broker, takes long, or makes a node fail, whatever is wrong with it."""

import json
import subprocess
import sys
from typing import Any

import pytest

SERVERS = ["kafka", "rocketmq", "name-server"]
MOST_MS, MOST_MB = 50.0, 400
"""Of processor time for one frame, and of memory at its peak."""


def fuzzed(server: str, seed: int, frames: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.wire_fuzz", server, str(seed), str(frames)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, f"{server} {seed}: {ran.returncode} {ran.stderr[:500]}"
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def check(server: str, seed: int, frames: int) -> None:
    found = fuzzed(server, seed, frames)
    assert found["faults"] == []
    assert found["taken"] > frames / 10, "some are requests"
    assert found["refused"] > frames / 10, "some are none"
    assert found["most_ms"] < MOST_MS, found["slowest"]
    assert found["peak_mb"] < MOST_MB


@pytest.mark.parametrize("server", SERVERS)
def test_thousands_of_frames_end_no_process(server: str) -> None:
    check(server, 1, 8_000)


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_million_frames_end_no_process(server: str, seed: int) -> None:
    check(server, seed, 100_000)
