"""What a comparison takes for granted is told, in the terms of the scenario."""

from typing import Any

from tests.compare.compared import made, ran


def told(**more: Any) -> list[str]:
    return [each["text"] for each in ran(made(events=[], run={"for": "10s"}, **more))[1]["assumptions"]]


def test_replicas_are_told_where_there_are_several_brokers() -> None:
    systems = ["kafka:range", "rocketmq:AVG"]
    assert not any("replica" in each for each in told(systems=systems, load={}))
    every, master = told(systems=systems, load={}, brokers=["a", "b", "c"])
    assert every == ("Kafka: every partition has a replica on each of 3 brokers, so that it always has a leader.")
    assert master.startswith("RocketMQ: every broker is a master without a replica")
    (one, _) = told(systems=systems, load={}, brokers=["a", "b", "c"], replication={"kafka": 2})
    assert one.startswith("Kafka: every partition has 2 replicas on 3 brokers, and no leader while")


def test_one_loop_stands_against_a_pool_where_handling_takes_time() -> None:
    slow = {"name": "g", "members": {"c1": {"subscribe": ["X"], "handle": "5ms"}}}
    systems = [
        "kafka:range",
        "rocketmq:AVG",
        {"system": "rocketmq:AVG", "label": "p", "settings": {"consumer": "pull"}},
    ]
    found = told(systems=systems, group=slow, load={})
    assert found == [
        "Kafka: a member handles one record after the other.",
        "RocketMQ: a member handles one record after the other.",
    ]
    found = told(systems=systems, group=slow, load={}, threads="real")
    assert found[1] == "RocketMQ: a member handles records in 1 to 20 threads (consumeThreadMax)."
    four = {"name": "g", "members": {"c1": {"subscribe": ["X"], "handle": "5ms", "threads": 4}}}
    assert told(systems=["kafka:range"], group=four, load={}) == ["Kafka: a member handles records in 4 threads."]
    quick = {"name": "g", "members": {"c1": {"subscribe": ["X"]}}}
    assert told(systems=["kafka:range"], group=quick, load={}) == []


def test_producers_and_fetches_are_told_where_records_are_written() -> None:
    assert told(systems=["kafka:range"]) == [
        "Kafka: fetching takes neither time nor messages, because what a fetch brings is computed."
    ]
    kafka, share, pop = told(systems=["kafka:range", "kafka:share", "rocketmq:POP", "rocketmq:AVG"])
    assert kafka.startswith("Kafka: with owned partitions (kafka:range) fetching takes neither time nor messages")
    assert share.startswith("Kafka: share consumers (kafka:share) fetch in the simulation")
    assert pop.startswith("RocketMQ: clients that use POP (rocketmq:POP) ask one proxy; each acknowledgement is")


def test_who_resolves_a_pattern_where_no_broker_does_is_told() -> None:
    members = {"c1": {"pattern": "X|Y", "resolved_by": "broker"}, "c2": ["X"]}
    group = {"name": "g", "members": members}
    systems = ["kafka:uniform", "kafka:range", "kafka:sticky+static", "kafka-zookeeper:range", "rocketmq:AVG"]
    assert told(systems=systems, group=group, load={}) == [
        "Kafka: the classic protocol (kafka:range and kafka:sticky+static) has no patterns of the broker, so that the"
        " client resolves them from its metadata, which it asks for every metadata.max.age.ms.",
        "Kafka over ZooKeeper: brokers resolve no patterns, so that every member does that itself (resolved_by).",
        "RocketMQ: topics are subscribed to by name, and a pattern stands for those that match when the member starts.",
    ]
    assert told(systems=["kafka:uniform"], group=group, load={}) == []
    members["c1"] = {**members["c1"], "settings": {"group.protocol": "classic"}}  # type: ignore[dict-item]
    (own,) = told(systems=["kafka:uniform"], group=group, load={})
    assert own.startswith("Kafka: the classic protocol (kafka:uniform) has no patterns of the broker")
    members["c1"] = {"pattern": "X|Y"}
    assert told(systems=systems, group=group, load={}) == []
