"""The assignors of kafka-python and aiokafka, called in this process as their group leaders call them."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiokafka.coordinator.assignors.range as aio_range
import aiokafka.coordinator.assignors.roundrobin as aio_roundrobin
import aiokafka.coordinator.assignors.sticky.sticky_assignor as aio_sticky
import kafka.coordinator.assignors.range as kp_range
import kafka.coordinator.assignors.roundrobin as kp_roundrobin
import kafka.coordinator.assignors.sticky.sticky_assignor as kp_sticky
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.structs import TopicPartition

from benchmarks.assignor_shapes import Measured, Shape, sizes

GENERATION = 1


class Cluster:
    """As much of the clients' cluster metadata as the assignors ask for."""

    def __init__(self, shape: Shape) -> None:
        self._partitions = {topic: set(range(shape.partitions)) for topic in shape.topic_names}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


def kafka_python(strategy: str, shape: Shape, rounds: int) -> Measured:
    """kafka-python's answer; it has no cooperative-sticky, its sticky stands in."""
    assignor: Any = {
        "range": kp_range.RangePartitionAssignor,
        "roundrobin": kp_roundrobin.RoundRobinPartitionAssignor,
    }.get(strategy, kp_sticky.StickyPartitionAssignor)()
    cluster, members = Cluster(shape), []
    for id, topics, owned in shape.subscriptions():
        user_data = kp_sticky.StickyAssignorUserData(list(owned.items()), GENERATION).encode() if owned else b""
        members.append(
            SimpleNamespace(
                member_id=id, group_instance_id=None, metadata=ConsumerProtocolSubscription(0, topics, user_data)
            )
        )
    answer, best = timed(lambda: assignor.assign(cluster, members), rounds)
    return Measured(best, sizes([len(each.partitions()) for each in answer.values()]))


def aiokafka(strategy: str, shape: Shape, rounds: int) -> Measured:
    """aiokafka's answer; it has no cooperative-sticky, its sticky stands in."""
    assignor: Any = {
        "range": aio_range.RangePartitionAssignor,
        "roundrobin": aio_roundrobin.RoundRobinPartitionAssignor,
    }.get(strategy, aio_sticky.StickyPartitionAssignor)
    cluster: Any = Cluster(shape)
    members = {}
    for id, topics, owned in shape.subscriptions():
        claims = [TopicPartition(topic, number) for topic, numbers in owned.items() for number in numbers]
        user_data = assignor._metadata(topics, claims, GENERATION).user_data if claims else b""
        members[id] = ConsumerProtocolMemberMetadata(0, topics, user_data)
    answer, best = timed(lambda: assignor.assign(cluster, members), rounds)
    return Measured(best, sizes([len(each.partitions()) for each in answer.values()]))


def timed(work: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    """The last answer, and the best wall milliseconds."""
    best = float("inf")
    answer = None
    for _ in range(rounds):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return answer, best * 1000
