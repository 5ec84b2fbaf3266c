"""A client assignor of somebody's own: real consumers (kafka-python) whose leader calls `compare.load_aware`."""

import json
import time
from threading import Event, Thread
from typing import Any

from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import (
    AbstractPartitionAssignor,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from compare import QueueLoad, load_aware
from protocols import Group
from tests.compare.planning.test_by_load import producing
from tests.compare.planning.test_by_load import run as plan
from tests.compare.serving.test_command import serving

RATES = (40.0, 35.0, 30.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0)


class LoadAwareAssignor(AbstractPartitionAssignor):
    """Members send the partitions that they own as user data; the leader knows the rates."""

    name = "load-aware"

    def __init__(self) -> None:
        self.owned: list[list[Any]] = []

    def metadata(self, topics: set[str]) -> Any:
        return ConsumerProtocolSubscription(0, sorted(topics), json.dumps(self.owned).encode())

    def on_assignment(self, assignment: Any, generation: int) -> None:
        self.owned = [[topic, number] for topic, numbers in assignment.assigned_partitions for number in numbers]

    def assign(self, cluster: Any, members: Any) -> dict[str, Any]:
        reads = {member.member_id: list(member.metadata.topics) for member in members}
        topics = {topic: len(cluster.partitions_for_topic(topic)) for each in reads.values() for topic in each}
        group = Group.of(topics, dict(sorted(reads.items())))
        queue = {(each.topic, each.number): each for each in group.queues}
        today = {
            member.member_id: [queue[topic, number] for topic, number in json.loads(member.metadata.user_data)]
            for member in members
        }
        loads = {each: QueueLoad(RATES[each.number]) for each in group.queues}
        found = load_aware(group, today, loads, capacity=75.0)
        given: dict[str, dict[str, list[int]]] = {id: {} for id in found.allocation}
        for id, queues in found.allocation.items():
            for each in queues:
                given[id].setdefault(each.topic, []).append(each.number)
        return {id: ConsumerProtocolAssignment(0, sorted(each.items()), b"") for id, each in given.items()}


class Worker(Thread):
    """A consumer in a thread of its own; ``owned``: the partitions that it had after its last poll."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.bootstrap, self.owned, self.stop = bootstrap, set[int](), Event()

    def run(self) -> None:
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=self.bootstrap,
            group_id="billing",
            partition_assignment_strategy=[LoadAwareAssignor],
            heartbeat_interval_ms=300,
        )
        while not self.stop.is_set():
            consumer.poll(timeout_ms=100)
            self.owned = {each.partition for each in consumer.assignment()}
        consumer.close()


def settled(workers: list[Worker]) -> list[set[int]]:
    """What each owns once every partition has one owner and nobody is idle."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = [worker.owned for worker in workers]
        if sorted(number for each in found for number in each) == list(range(len(RATES))) and all(found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"not settled: {[worker.owned for worker in workers]}")


def test_real_consumers_share_by_load_and_keep_what_they_can() -> None:
    with serving("kafka", "--port", "0", "--topic", f"orders:{len(RATES)}", "--initial-delay", "2s") as (_, line):
        workers = [Worker(line.split()[-1]) for _ in range(3)]
        for worker in workers[:2]:
            worker.start()
        before = settled(workers[:2])
        assert max(sum(RATES[number] for number in each) for each in before) <= 75
        with producing(bootstrap := line.split()[-1], RATES):
            check = ("--check", "1", "--to", "load-aware", "--from", "range", f"kafka://{bootstrap}")
            code, until = 1, time.monotonic() + 60
            while code and time.monotonic() < until:  # until every partition has a committed offset, and rates are even
                code, told = plan("--capacity", "80", *check)
            assert (code, "strategy load-aware" in told, "no queue has to move" in told) == (0, True, True), told
            code, told = plan("--capacity", "50", *check)
            assert (code, "of what a member can handle" in told or "would even out" in told) == (1, True), told
        # Two members have room for all, so the third one gets nothing; when one leaves, it takes that one's place.
        workers[2].start()
        time.sleep(2)
        workers[0].stop.set()
        workers[0].join(30)
        after = settled(workers[1:])
        assert before[1] <= after[0]
        assert max(sum(RATES[number] for number in each) for each in after) <= 75
        for worker in workers[1:]:
            worker.stop.set()
            worker.join(30)
