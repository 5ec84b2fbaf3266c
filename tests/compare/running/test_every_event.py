"""Whatever may stand in a scenario happens in every system."""

import re

import pytest

from compare.running.systems import cluster_of, read_text
from protocols.scenario.events import EVENT_KINDS, Rolling
from protocols.scenario.running import Run

TEXT = """
name: everything
brokers: [broker-a, broker-b]
topics: {orders: 4, payments: {queues: {broker-a: 2}}, audit: 2}
group: {name: billing, members: {c1: [orders], c2: [orders, payments], c4: [audit]}}
run: {for: 5min}
systems: [kafka:range, rocketmq:AVG, kafka-zookeeper:range]
events:
"""


@pytest.mark.parametrize("number", range(3))
def test_the_examples_of_all_events_happen(number: int) -> None:
    # A strategy is one system's only.
    examples = [re.sub(", strategy: [^}]*", "", kind.example) for kind in EVENT_KINDS.values()]
    day = read_text(TEXT + "".join(f"  - {example}\n" for example in examples))
    system = day.systems[number]
    run = Run.of(day, system, cluster_of(system.system)).run()
    assert {type(event) for event in run.calls.values() if event is not None} == set(EVENT_KINDS.values()) - {Rolling}
