"""Scenarios made for tests of the comparison, run here and now."""

from collections.abc import Sequence
from typing import Any

from compare.explaining.document import document
from compare.running.runs import MeasuredRun, RunOrder, run_all
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario

FOUR_MEMBERS: dict[str, Any] = {
    "name": "four members, two topics",
    "about": "a third and a fourth member join two",
    "topics": {"X": 2, "Y": 2},
    "group": {"name": "g", "members": {"c1": ["X", "Y"], "c2": ["X", "Y"]}},
    "load": {"produce": "10/s"},
    "run": {"for": "90s", "seed": 1},
    "systems": ["kafka:range", "kafka:cooperative-sticky", "kafka-zookeeper:roundrobin"],
    "events": [
        {"at": "20s", "join": "c3", "subscribe": ["X", "Y"]},
        {"at": "50s", "join": "c4", "subscribe": ["X", "Y"]},
    ],
}


def made(**more: Any) -> Scenario:
    """The four members, with some of it written otherwise."""
    return scenario({**FOUR_MEMBERS, **more}, registered=known_strategies())


def ran(
    of: Scenario, *, seeds: Sequence[int] = (), systems: Sequence[str] = (), with_chart_data: bool = False
) -> tuple[list[MeasuredRun], dict[str, Any]]:
    """The runs of a scenario and its document."""
    variants = variants_of(of, systems, seeds)
    first = {each.label: each for each in reversed(variants)}
    orders = [RunOrder(each, True, with_chart_data and first[each.label] is each) for each in variants]
    runs = list(run_all(orders, lambda run: None, processes=1))
    return runs, document(of, runs)
