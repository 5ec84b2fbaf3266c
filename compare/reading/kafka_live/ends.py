"""Where partitions end, as far as their leaders tell it."""

from collections.abc import Iterable, Mapping

from compare.reading.kafka_live.connection import Answer, Connection
from protocols import Queue

Leaders = Mapping[str, Mapping[int, int]]
"""Topic to partition number to the node that leads it, -1 where none does; numbers ascend."""

_QUEUES_AT_ONCE = 2000


def end_offsets(
    connection: Connection, queues: Iterable[Queue], leaders: Leaders
) -> tuple[dict[Queue, int], dict[Queue, str]]:
    """The end offset of each queue that there is, or why it is not known."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    unknown: dict[Queue, str] = {}
    by_leader: dict[int, list[Queue]] = {}
    for queue in queues:
        leader = leaders.get(queue.topic, {}).get(queue.number)
        if leader is not None and leader < 0:
            unknown[queue] = "no leader"
        elif leader is not None:
            by_leader.setdefault(leader, []).append(queue)
    # One request per leader, so that a node that is silent takes no other's answers along.
    batches = [
        of_leader[start : start + _QUEUES_AT_ONCE]
        for of_leader in by_leader.values()
        for start in range(0, len(of_leader), _QUEUES_AT_ONCE)
    ]
    requests: list[Answer] = []
    for batch in batches:
        wanted = {TopicPartition(queue.topic, queue.number): OffsetSpec.latest() for queue in batch}
        requests += connection.admin.list_offsets(wanted, request_timeout=connection.wait_s()).values()
    ends: dict[Queue, int] = {}
    asked = (queue for batch in batches for queue in batch)
    for queue, answer in zip(asked, connection.each(requests), strict=True):
        if isinstance(answer, Exception):
            unknown[queue] = connection.text(answer)
        else:
            ends[queue] = answer.offset
    return ends, unknown
