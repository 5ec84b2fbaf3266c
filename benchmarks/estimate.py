"""What `equipoise compare` estimates of a run against what the run takes: CPU seconds.

Wanted: the estimate within a factor of 4, the larger runs at least. ``python -m benchmarks.estimate`` takes three
minutes; the examples are scaled up in members, queues, events and time.
"""

import time
from collections.abc import Iterator
from typing import Any

from compare.comparison.runs import RunOrder, run_all
from compare.comparison.work import work_of
from compare.scenarios.reading import read, scenario
from compare.scenarios.variants import Variant, variants_of
from protocols.scenario.model import Scenario
from protocols.scenario.systems import split_system

EXAMPLES = "examples/scenarios"
WANTED = 4.0
SYSTEMS = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")
LEAST_S = 0.3
"""What takes less is noise."""


def made(members: int, queues: int, length: str, load: int = 0, events: int = 0) -> Scenario:
    """A group in which one member after the other crashes and starts again, every ten seconds."""
    happening: list[dict[str, Any]] = [
        {"at": f"{20 + 10 * at}s", "crash" if at % 2 == 0 else "restart": f"c{1 + at // 2 % members}"}
        for at in range(events)
    ]
    return scenario(
        name=f"{members} members, {queues} queues, {length}, load {load}, {events} events",
        topics={"orders": queues},
        group={"name": "g", "members": {f"c1..c{members}": ["orders"]}},
        load={"produce": f"{load}/s"},
        run={"for": length},
        events=happening,
        systems=list(SYSTEMS),
    )


def scenarios() -> Iterator[Scenario]:
    """Groups of many sizes, and examples that go on for two days."""
    yield made(4, 8, "20h")
    yield made(40, 80, "4h")
    yield made(4, 800, "1h")
    yield made(4, 3000, "5min")
    yield made(300, 300, "5min")
    yield made(4, 8, "2h", load=10)
    yield made(40, 80, "30min", load=10)
    yield made(4, 8, "5min", load=100)
    yield made(4, 8, "1h", events=200)
    yield made(40, 80, "1h", events=100)
    yield made(4, 80, "1h", load=10, events=60)
    for name in ("four-members-two-topics", "rolling-restart", "killed-orderly-owner"):
        example = read(f"{EXAMPLES}/{name}.yaml")
        yield example.model_copy(update={"run": example.run.model_copy(update={"for_": 2 * 86_400_000.0})})


def main() -> None:
    print(f"{'estimate':>9}{'took':>9}{'ratio':>8}")
    ratios = []
    for each in scenarios():
        for variant in _one_of_each(each):
            estimate = work_of([(each, [variant], False)], 1).seconds
            began = time.process_time()
            list(run_all([RunOrder(variant, whole=True)], lambda run: None, 1))
            took = time.process_time() - began
            told = ""
            if max(took, estimate) >= LEAST_S:
                ratios.append(estimate / took)
                told = f"{ratios[-1]:8.2f}"
            print(f"{estimate:8.2f}s{took:8.2f}s{told:>8}  {variant.label}: {each.name}", flush=True)
    within = sum(1 / WANTED <= ratio <= WANTED for ratio in ratios)
    print(f"{within} of {len(ratios)} estimates are within a factor of {WANTED:g}")


def _one_of_each(each: Scenario) -> list[Variant]:
    """One variant of each system."""
    return list({split_system(variant.part.system)[0]: variant for variant in variants_of(each)}.values())


if __name__ == "__main__":
    main()
