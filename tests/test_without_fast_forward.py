"""Kernel and nodes do without the layer that skips quiet times: where its packages cannot be imported, every example
runs in full, to the same facts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compare.running.systems import cluster_of, read
from compare.running.variants import variants_of
from protocols.facts import Committed, Delivered, Position
from protocols.scenario.model import Scenario
from protocols.scenario.running import Run
from tests.protocols.happenings import Facts
from tests.skipping import skipping_at_once

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))
LAYERS = ("protocols.engine.fast_forward", "kafka_coordinator.fast_forward", "rocketmq_selfbalance.fast_forward")
SHORT_MS = 75_000.0
"""Longer examples are cut there."""

BLOCKED = """
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1].split(","):
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Blocked())
from tests.test_without_fast_forward import everything_told
print(json.dumps(everything_told(full=True, every_variant=sys.argv[2] == "True")))
"""


SHIFTED_MS = 20.0
"""Where several records come within a round trip, RocketMQ's computed pulls are not as many as in the full run, and
later messages on the same link take other latencies: at most so much earlier or later (docs/engine.md)."""

BUSY = {"hot-key rocketmq:AVG"}
"""Examples of which that is true."""


def everything_told(*, full: bool, every_variant: bool) -> dict[str, list[tuple[float, str]]]:
    """Example and variant (every one, or the first of each system) to all facts with their times.

    In RocketMQ reading under load is computed as a function of time, to the same records but not to the tick: there
    facts about it are left out, and what a client does to several queues at one time may be told in another order.
    """
    found = {}
    for path in EXAMPLES:
        variants = variants_of(shortened(read(path)))
        first = {each.part.system.partition(":")[0]: each for each in reversed(variants)}
        for variant in variants if every_variant else first.values():
            facts, system = Facts(), variant.part.system
            Run.of(variant.scenario, variant.part, cluster_of(system), observer=facts, full=full).run()
            told = [(fact[0], repr(fact[1:3])) for fact in facts.told]
            if system.startswith("rocketmq"):
                without = [fact for fact in facts.told if not isinstance(fact[2], Committed | Delivered | Position)]
                told = sorted((fact[0], repr(fact[1:3])) for fact in without)
            found[f"{path.stem} {variant.label}"] = told
    return found


def shortened(scenario: Scenario) -> Scenario:
    """The same up to `SHORT_MS`."""
    until = min(scenario.run.for_, SHORT_MS)
    events = tuple(event for event in scenario.events if event.at < until)
    run = scenario.run.model_copy(update={"for_": until})
    return scenario.model_copy(update={"run": run, "events": events})


@pytest.mark.parametrize("every_variant", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_example_runs_in_full_where_the_layer_cannot_be_imported(every_variant: bool) -> None:
    command = [sys.executable, "-c", BLOCKED, ",".join(LAYERS), str(every_variant)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    in_full: dict[str, Any] = json.loads(done.stdout)
    with skipping_at_once("kafka_coordinator"), skipping_at_once("rocketmq_selfbalance"):
        quick = everything_told(full=False, every_variant=every_variant)
    assert len(quick) > len(EXAMPLES)
    in_full = {name: [(at, fact) for at, fact in told] for name, told in in_full.items()}
    assert [name for name in quick if name not in BUSY and quick[name] != in_full[name]] == []
    for name in BUSY:
        by_member = [
            sorted(told, key=lambda each: (each[1].split(",")[0], each[0])) for told in (quick[name], in_full[name])
        ]
        assert [fact for _, fact in by_member[0]] == [fact for _, fact in by_member[1]], name
        assert all(abs(quickly - fully) <= SHIFTED_MS for (quickly, _), (fully, _) in zip(*by_member, strict=True)), (
            name
        )
