"""Every example tells the same whether its quiet times are computed or simulated."""

from pathlib import Path
from typing import Any

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import cluster_of, read
from compare.running.variants import Variant, variants_of
from protocols.engine.nodes import Unobserved
from protocols.facts import Committed, Delivered, Position
from protocols.scenario.model import Scenario
from protocols.scenario.running import Run

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.yaml"))
SHORT_MS = 75_000.0
"""Longer examples are cut there."""

SHIFTED_MS = 20.0
"""Where several records come within a round trip, computed pulls are not as many as in the full run, and later messages
on the same link take other latencies: at most so much earlier or later (docs/engine.md)."""

BUSY = {"hot-key rocketmq:AVG", "hot-key rocketmq:AVG, 20 threads"}
"""Examples of which that is true."""


class Facts(Unobserved):
    """Facts with time, node and the call that began them. Reading under load is computed as a function of time, to the
    same records but not to the tick: facts about it are left out."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        if not isinstance(fact, Committed | Delivered | Position):
            self.told.append((now, repr((node, fact))))


def told(variant: Variant, *, full: bool) -> list[tuple[float, str]]:
    """All facts in order of time (what a client does to several queues at one time may be told in another order)."""
    facts = Facts()
    Run.of(variant.scenario, variant.part, cluster_of(variant.part.system), observer=facts, full=full).run()
    return sorted(facts.told)


def shortened(scenario: Scenario) -> Scenario:
    """The same up to `SHORT_MS`."""
    until = min(scenario.run.for_, SHORT_MS)
    events = tuple(event for event in scenario.events if event.at < until)
    run = scenario.run.model_copy(update={"for_": until})
    return scenario.model_copy(update={"run": run, "events": events})


@pytest.mark.parametrize("every_variant", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_example_tells_the_same_in_full(every_variant: bool) -> None:
    """Every variant of RocketMQ, or the first one."""
    different, count = [], 0
    for path in EXAMPLES:
        variants = variants_of(shortened(read(path)))
        ours = [variant for variant in variants if variant.part.system.startswith("rocketmq")]
        for variant in ours if every_variant else ours[:1]:
            name = f"{path.stem} {variant.label}"
            quick, full = told(variant, full=False), told(variant, full=True)
            count += 1
            if name in BUSY:
                assert_shifted(quick, full)
            elif quick != full:
                different.append(name)
    assert different == []
    assert count > 20


def assert_shifted(quick: list[tuple[float, str]], full: list[tuple[float, str]]) -> None:
    """The same facts of each member, each at nearly the same time."""
    by_member = [sorted(facts, key=lambda fact: (fact[1].split(",")[0], fact[0])) for facts in (quick, full)]
    assert [fact for _, fact in by_member[0]] == [fact for _, fact in by_member[1]]
    assert all(abs(quickly - fully) <= SHIFTED_MS for (quickly, _), (fully, _) in zip(*by_member, strict=True))


def test_records_of_busy_examples_are_handled_as_in_full() -> None:
    """What is left out above: as many records by as many, as old, though told in fewer facts."""
    variants = [
        variant
        for path in EXAMPLES
        for variant in variants_of(shortened(read(path)))
        if f"{path.stem} {variant.label}" in BUSY
    ]
    assert len(variants) == len(BUSY)
    for variant in variants:
        quick, full = (run_record(run_variant(variant, full=full)) for full in (False, True))
        assert quick["harm"]["work"] == full["harm"]["work"], variant.label
        assert quick["lag"] == full["lag"], variant.label
        for rank in ("p50", "p99", "max"):
            assert quick["record_age_ms"][rank] == pytest.approx(full["record_age_ms"][rank], abs=3), rank
        # One commit earlier or later is a record or two a queue.
        assert abs(quick["redelivered"] - full["redelivered"]) <= 2 * 8
