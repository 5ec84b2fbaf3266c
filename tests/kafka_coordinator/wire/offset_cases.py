"""Offsets that are committed and fetched by topic id, as Kafka offers it since 4.4, and by name beside it."""

import time
from typing import Any
from uuid import UUID

from tests.kafka_coordinator.wire.broker_cases import Ask
from tests.kafka_coordinator.wire.plain import request

_CREATE, _LIST_OFFSETS, _COMMIT, _FETCH, _FIND = 19, 2, 8, 9, 10
_UNKNOWN = UUID(int=7)


def offsets_by_topic_id(ask: Ask, topic: str) -> list[Any]:
    made = ask(
        request(_CREATE, 7, topics=[{"name": topic, "num_partitions": 2, "replication_factor": 1}], timeout=5000)
    )
    known = made.topics[0].topic_id

    def commit(version: int, *topics: tuple[UUID | str | None, tuple[int, ...]], **member: Any) -> Any:
        return ask(
            request(
                _COMMIT,
                version,
                group_id=topic,
                group_instance_id=None,
                **{"generation_id_or_member_epoch": -1, "member_id": "", **member},
                topics=[{_field(version): each, "partitions": [_offset(n) for n in ns]} for each, ns in topics],
            )
        )

    def fetch(version: int, *topics: tuple[UUID | str | None, tuple[int, ...]], **more: Any) -> Any:
        wanted = [{_field(version): each, "partition_indexes": numbers} for each, numbers in topics]
        return ask(request(_FETCH, version, groups=[{"group_id": topic, "topics": wanted, **more}]))

    ask(request(_FIND, 4, key_type=0, coordinator_keys=[topic]))
    while fetch(9).groups[0].error_code != 0:  # a real broker makes __consumer_offsets first
        time.sleep(0.2)
    stranger = {"generation_id_or_member_epoch": 3, "member_id": "x"}
    asked = [-1, -2, -3, -4, -5, -6]
    times = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": each} for each in asked]
    topics = [{"name": topic, "partitions": times}]
    return [
        commit(10, (known, (0, 9)), (_UNKNOWN, (0,))),
        commit(10, (None, (0,))),
        commit(10),
        commit(10, (known, (0,)), **stranger),
        commit(9, (topic, (1,)), ("nope", (0,))),
        commit(9, (topic, (0,)), **stranger),
        fetch(10, (known, (0, 1, 7)), (_UNKNOWN, (0, 3)), (None, (0,))),
        fetch(10, topics=None),
        fetch(10),
        fetch(10, (known, (0,)), (_UNKNOWN, (0, 3)), member_id="x", member_epoch=4),
        fetch(9, (topic, (0, 7)), ("nope", (0,))),
        fetch(10, (known, (0,)), (_UNKNOWN, (0,)), group_id=""),
        ask(request(_LIST_OFFSETS, 11, replica_id=-1, isolation_level=0, topics=topics)),
    ]


def _field(version: int) -> str:
    return "topic_id" if version >= 10 else "name"


def _offset(number: int) -> dict[str, Any]:
    return {
        "partition_index": number,
        "committed_offset": 5 + number,
        "committed_leader_epoch": -1,
        "committed_metadata": "m",
    }
