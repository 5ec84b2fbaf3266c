"""Groups of confluent-kafka members, classic and of the consumer protocol, before a cluster that Kafka's tools and the
audit then look at."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from compare.reading.kafka_live import observe
from compare.reading.observed import ObservedGroup
from tests.slow.real_kafka import RealKafka

library = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")

TOPICS = {"orders": 6, "payments.eu": 4, "single": 1, "old": 2}
SETTLE_S = 60


@dataclass(frozen=True)
class Running:
    """A group that the test runs: one dictionary of settings per member."""

    topics: Sequence[str]
    members: Sequence[Mapping[str, str]]


GROUPS = {
    "range": Running(["orders", "payments.eu"], [{"partition.assignment.strategy": "range"}] * 4),
    "round robin": Running(["orders", "payments.eu"], [{"partition.assignment.strategy": "roundrobin"}] * 3),
    "cooperative": Running(["orders"], [{"partition.assignment.strategy": "cooperative-sticky"}] * 2),
    "idle": Running(["single"], [{"client.id": "shared name"}] * 3),
    "static": Running(["payments.eu"], [{"group.instance.id": "i-1"}, {"group.instance.id": "i-2"}]),
    "订单-ü": Running(["orders"], [{}]),
    "next-uniform": Running(["orders", "payments.eu"], [{"group.protocol": "consumer"}] * 3),
    "next-range": Running(
        ["orders", "payments.eu"], [{"group.protocol": "consumer", "group.remote.assignor": "range"}] * 4
    ),
    "next-idle": Running(["single"], [{"group.protocol": "consumer"}] * 2),
}
LEFT = Running(["orders", "old"], [{}] * 2)


def admin_client(kafka: RealKafka) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": kafka.plaintext})


def make_topics(kafka: RealKafka) -> None:
    from confluent_kafka.admin import NewTopic

    # A client that nobody holds is taken down with its requests.
    client = admin_client(kafka)
    for made in client.create_topics([NewTopic(topic, count, 1) for topic, count in TOPICS.items()]).values():
        made.result(SETTLE_S)
    producer = library.Producer({"bootstrap.servers": kafka.plaintext})
    for topic, count in TOPICS.items():
        for number in range(count):
            for value in range(3 + 2 * number):
                producer.produce(topic, str(value), partition=number)
    assert producer.flush(SETTLE_S) == 0


def consumer_of(kafka: RealKafka, group: str, settings: Mapping[str, str]) -> Any:
    return library.Consumer(
        {
            "bootstrap.servers": kafka.plaintext,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )


def commit(consumer: Any, *offsets: tuple[str, int, int]) -> None:
    found = [library.TopicPartition(topic, number, offset) for topic, number, offset in offsets]
    consumer.commit(offsets=found, asynchronous=False)


def run_groups(kafka: RealKafka) -> Iterator[Any]:
    """Consumers that stay; two more groups are left behind, one of them never had a member."""
    simple = consumer_of(kafka, "simple", {})
    commit(simple, ("old", 0, 1), ("orders", 5, 2))
    simple.close()
    consumers: dict[str, list[Any]] = {}
    for group, of_group in {**GROUPS, "left": LEFT}.items():
        for settings in of_group.members:
            consumer = consumer_of(kafka, group, settings)
            if group != "left":
                yield consumer
            consumer.subscribe(list(of_group.topics))
            consumers.setdefault(group, []).append(consumer)
    settle(kafka, consumers)
    commit(consumers["left"][0], ("orders", 0, 3), ("old", 1, 0))
    for consumer in consumers.pop("left"):
        consumer.close()
    for group, of_group in consumers.items():
        owner = next(each for each in of_group if each.assignment())
        commit(owner, *((each.topic, each.partition, 1 + each.partition) for each in owner.assignment()))
        # Nobody in the group reads this topic.
        if group in ("range", "next-uniform"):
            commit(owner, ("old", 0, 2))


def settle(kafka: RealKafka, consumers: Mapping[str, Sequence[Any]]) -> None:
    client = admin_client(kafka)
    deadline = time.monotonic() + SETTLE_S
    waiting = dict(consumers)
    while waiting:
        assert time.monotonic() < deadline, f"did not settle: {sorted(waiting)}"
        for consumer in [each for of_group in waiting.values() for each in of_group]:
            consumer.poll(0.01)
        described = client.describe_consumer_groups(list(waiting), request_timeout=SETTLE_S)
        for group, future in described.items():
            count = sum(TOPICS[topic] for topic in GROUPS.get(group, LEFT).topics)
            about = future.result()
            held = sum(len(each.assignment.topic_partitions) for each in about.members)
            believed = sum(len(each.assignment()) for each in consumers[group])
            if (about.state.name, len(about.members), held, believed) == (
                "STABLE",
                len(consumers[group]),
                count,
                count,
            ):
                del waiting[group]


def observed(address: str, **options: Any) -> dict[str, ObservedGroup]:
    found = observe(f"kafka://{address}", **options)
    groups = {each.name: each for each in found if isinstance(each, ObservedGroup)}
    assert len(groups) == len(found), found
    return groups


def comparable(group: ObservedGroup) -> ObservedGroup:
    """What is the same whichever way one asks: brokers have an address per listener, and a tool shows no view of the
    members of a group that has none."""
    members = None if group.members is None else tuple(sorted(group.members, key=lambda member: member.id))
    return replace(group, members=members, sources=(), coordinator=None, instances_told=False)


def audit(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "compare", "audit", "--format", "json", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SETTLE_S, check=False)


def audited_groups(document: str) -> list[dict[str, Any]]:
    groups = json.loads(document)["groups"]
    for group in groups:
        del group["sources"]
    return sorted(groups, key=lambda group: str(group["group"]))
