"""Large groups: who owns how much at the end, and each size in a process of its own, with its own peak of memory."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.large_uniform import peak_megabytes
from protocols.engine.simulation import Unobserved
from protocols.facts import Owns
from protocols.scenario.running import Run

COLUMNS = ("CPU s", "peak MB of the process", "messages", "of these and of timers handled")
"""Of a table of `each_alone`, after the size."""


class Last(Unobserved):
    """Keeps how many queues every member believed to own last."""

    def __init__(self) -> None:
        self.owned: dict[str, int] = {}

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        if type(fact) is Owns:
            self.owned[fact.member] = len(fact.queues)


def spent(start: float, variant: Run) -> dict[str, float]:
    """What a run has cost that began at this CPU second of the process, in the order of `COLUMNS`."""
    return {
        "cpu_s": time.process_time() - start,
        "peak_mb": peak_megabytes(),
        "messages": sum(variant.simulation.messages.values()),
        "handled": variant.simulation.number,
    }


def each_alone(module: str, option: str, sizes: Iterable[int]) -> list[list[float]]:
    """Size and what it has cost, of each size: the module is called with the option and prints `spent` as JSON."""
    rows = []
    for size in sizes:
        command = [sys.executable, "-m", module, option, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
        rows.append([size, *json.loads(done.stdout).values()])
    return rows
