"""Brokers that go where queues have few replicas: how the systems differ, and what the lag is counted against."""

from typing import Any

import pytest

from compare.running.production import productions
from compare.running.run_variant import run_variant
from compare.running.systems import cluster_of, known_strategies
from compare.running.variants import variants_of
from kafka_coordinator.cluster.cluster import KafkaCluster
from protocols.errors import UserError
from protocols.scenario.reading import scenario
from protocols.scenario.running import Run

DOWN = [
    {"at": "60s", "broker": "broker-b", "does": "kill"},
    {"at": "75s", "broker": "broker-c", "does": "stop"},
    {"at": "80s", "produce": {"orders": 60}},
    {"at": "85s", "poison": "orders-3", "attempts": 2},
    {"at": "90s", "queues": {"orders": 9}},
    {"at": "100s", "broker": "broker-c", "does": "return"},
    {"at": "120s", "broker": "broker-b", "does": "return"},
]


def day(system: str, replication: dict[str, int], **more: Any) -> Any:
    return scenario(
        registered=known_strategies(),
        name="replicas",
        **{
            "brokers": ["broker-a", "broker-b", "broker-c"],
            "topics": {"orders": 6},
            "group": {"name": "g", "members": {"c1": ["orders"], "c2": ["orders"]}},
            "replication": replication,
            "load": {"produce": "3/s"},
            "run": {"for": "3min", "seed": 3},
            "systems": [system],
            "events": DOWN,
            **more,
        },
    )


def test_the_lag_is_counted_against_what_the_brokers_took(subtests: pytest.Subtests) -> None:
    for replicas in [1, 2, 3]:
        for rate in ["3/s", "0.7/s"]:
            with subtests.test(replicas=replicas, rate=rate):
                given = day("kafka:range", {"kafka": replicas}, load={"produce": rate})
                run = Run.of(given, given.systems[0], cluster_of("kafka:range")).run()
                assert isinstance(run.cluster, KafkaCluster)
                load = run.cluster.topics.load
                (variant,) = variants_of(given)
                written = productions(run_variant(variant))
                assert len(written) == 9
                for queue, history in written.items():
                    for now in range(55_000, 180_000, 2_500):
                        assert load.production((queue.topic, queue.number)).end_offset(now) == history.end_offset(
                            now
                        ), (queue, now)


@pytest.mark.parametrize(
    ("system", "replication", "problem"),
    [
        (
            "kafka-zookeeper:range",
            {"kafka-zookeeper": 2},
            "brokers serve every partition as long as one of them runs, expected it to be left out",
        ),
        (
            "rocketmq:POP",
            {"rocketmq": 2},
            "what a slave gives out under POP while broker-b is away is not modelled, expected it to be left out",
        ),
    ],
)
def test_what_a_system_does_not_have_is_refused_in_one_line(
    system: str, replication: dict[str, int], problem: str
) -> None:
    (variant,) = variants_of(day(system, replication))
    with pytest.raises(UserError) as refused:
        run_variant(variant)
    assert str(refused.value) == f"replication.{system.partition(':')[0]} is 2: {problem}"


def test_systems_that_are_not_there_are_refused() -> None:
    with pytest.raises(UserError) as refused:
        day("kafka:range", {"kafak": 2})
    assert str(refused.value) == "scenario: replication.kafak: unknown system 'kafak', did you mean kafka?"
