"""Brokers that go where queues have few replicas: how the systems differ, and what the lag is counted against."""

from typing import Any

import pytest

from compare.running.production import lag_of, productions
from compare.running.run_variant import run_variant
from compare.running.systems import cluster_of, known_strategies
from compare.running.variants import variants_of
from kafka_coordinator.cluster.cluster import KafkaCluster
from protocols.errors import UserError
from protocols.java import Queue
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


def test_only_where_all_replicas_are_down_nothing_comes_and_nobody_is_late() -> None:
    (variant,) = variants_of(day("kafka:range", {"kafka": 1}))
    run = run_variant(variant)
    written = productions(run)
    at_end = {queue.number: written[queue].end_offset(180_000.0) for queue in written}
    # broker-b has orders-2 and -3 and is away for a minute, broker-c orders-4 and -5 for 25 s.
    assert [at_end[number] for number in range(6)] == [550, 550, 360, 360, 465, 465]
    assert max(each.records for each in lag_of(run, written, [110_000.0, 150_000.0])) <= 1
    assert run.timeline.rebalance_count <= 2


def test_a_partition_survives_what_a_queue_of_rocketmq_does_not() -> None:
    owners = {}
    for system in ("kafka:range", "rocketmq:AVG"):
        events = [{"at": "60s", "broker": "broker-b", "does": "kill"}]
        (variant,) = variants_of(day(system, {"kafka": 2, "rocketmq": 1}, events=events))
        run = run_variant(variant)
        owners[system] = sum(len(queues) for (group, _), queues in run.timeline.owned.items() if group == "g")
        late = [each for each in lag_of(run, productions(run), [150_000.0]) if each.records > 3]
        assert late == [] or system == "rocketmq:AVG"
    assert owners["kafka:range"] == 6
    assert productions(run)[Queue("orders", "broker-b", 0)].end_offset(150_000.0) == 180


@pytest.mark.parametrize(
    ("system", "replication", "problem"),
    [
        (
            "rocketmq:AVG",
            {"rocketmq": 2},
            "brokers are masters without replicas, expected 1",
        ),
        (
            "kafka-zookeeper:range",
            {"kafka-zookeeper": 2},
            "brokers serve every partition as long as one of them runs, expected it to be left out",
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
