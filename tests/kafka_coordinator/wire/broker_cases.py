"""Conversations with a broker about records and topics, each from a state of its own: what a broker answers to them is
recorded from the real one (`tests/slow/test_broker_answers.py`) and compared with ours.

Each case is a function of ``ask`` (a request's entity to the answer's, None where the connection is closed) and of the
name of a topic that is its own. What it returns is the list of answers that count.
"""

from collections.abc import Callable
from random import Random
from struct import pack
from time import sleep
from typing import Any, TypeAlias
from uuid import UUID

from crc32c import crc32c
from kafka.record.memory_records import MemoryRecordsBuilder

from tests.kafka_coordinator.wire.plain import request

Ask: TypeAlias = Callable[[Any], Any]
Case: TypeAlias = Callable[[Ask, str], list[Any]]

TIME = 1_700_000_000_000
"""Of the first record, in Unix milliseconds."""


def batch(
    *values: bytes | None,
    compression: int = 0,
    times: list[int] | None = None,
    keys: list[bytes | None] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytes:
    """A batch as kafka-python makes it; ``producer``: id, epoch, first sequence."""
    number, epoch, sequence = producer
    builder = MemoryRecordsBuilder(
        2,
        compression,
        1 << 20,
        producer_id=number,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    for at, value in enumerate(values):
        builder.append(times[at] if times else TIME + at, keys[at] if keys else None, value, [])
    builder.close()
    return bytes(builder.buffer())


def changed(content: bytes, at: int, value: bytes, *, right_crc: bool = True) -> bytes:
    """A batch with other bytes somewhere in it."""
    made = content[:at] + value + content[at + len(value) :]
    return made[:17] + pack(">I", crc32c(made[21:])) + made[21:] if right_crc else made


def create(ask: Ask, topic: str, partitions: int = 1, **configs: str) -> Any:
    """Create a topic and wait until the broker knows it."""
    configs = {"retention_ms": "-1", **configs}
    pairs = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
    body = request(
        19, 7, topics=[{"name": topic, "num_partitions": partitions, "replication_factor": 1, "configs": pairs}]
    )
    made = ask(body).topics[0]
    assert made.error_code == 0, made
    for _ in range(300):
        if all(
            ask(list_offsets(topic, -1, partition=at)).topics[0].partitions[0].error_code == 0
            for at in range(partitions)
        ):
            return made
        sleep(0.01)
    raise AssertionError(f"{topic} never came")


def list_offsets(topic: str, *times: int, version: int = 10, partition: int = 0, **values: Any) -> Any:
    parts = [{"partition_index": partition + at, "timestamp": time, **values} for at, time in enumerate(times)]
    return request(2, version, replica_id=-1, topics=[{"name": topic, "partitions": parts}])


def produce(topic: str, *contents: bytes | None, version: int = 12, acks: int = -1, **values: Any) -> Any:
    """One batch for each partition from 0 on."""
    parts = [{"index": at, "records": content} for at, content in enumerate(contents)]
    named = {"topic_id": values.pop("topic_id")} if version >= 13 else {"name": topic}
    return request(0, version, acks=acks, timeout=5000, topic_data=[{**named, "partition_data": parts}], **values)


def fetch(topic: str, *offsets: int, version: int = 12, most: int = 1 << 20, **values: Any) -> Any:
    """From an offset of each partition from 0 on."""
    epoch = values.pop("current_leader_epoch", None)
    extra = {} if epoch is None else {"current_leader_epoch": epoch}
    parts = [
        {"partition": at, "fetch_offset": offset, "partition_max_bytes": most, **extra}
        for at, offset in enumerate(offsets)
    ]
    named = {"topic_id": values.pop("topic_id")} if version >= 13 else {"topic": topic}
    if "replica_state" not in values and version < 15:
        values["replica_id"] = -1
    defaults = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1 << 20, "topics": [{**named, "partitions": parts}]}
    return request(1, version, **{**defaults, **values})


def again(version: int, number: int, epoch: int, topics: list[Any] | None = None, gone: list[Any] | None = None) -> Any:
    """A later request of a session."""
    values: dict[str, Any] = {"replica_id": -1} if version < 15 else {}
    return request(
        1,
        version,
        max_wait=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=number,
        session_epoch=epoch,
        topics=topics or [],
        forgotten_topics_data=gone or [],
        **values,
    )


# Produce.


def produce_what_cannot_be(ask: Ask, topic: str) -> list[Any]:
    """Batches that the broker refuses, each for another reason."""
    create(ask, topic, 2, max_message_bytes="1000")
    good = batch(b"a", b"b")
    zstd = changed(good, 21, b"\0\4")
    contents = [
        good,
        b"",
        good[:40],
        good + good,
        changed(good, 60, b"x", right_crc=False),
        changed(good, 0, b"\0\0\0\0\0\0\0\5", right_crc=False),
        changed(good, 16, b"\1", right_crc=False),
        changed(good, 16, b"\7", right_crc=False),
        changed(good, 8, b"\0\0\0\5", right_crc=False),
        changed(good, 23, b"\0\0\0\7"),
        changed(good, 57, b"\0\0\0\7"),
        changed(good, 21, b"\0\7"),
        changed(good, 21, b"\0\x20"),
        changed(good, 43, b"\0\0\0\0\0\0\0\7"),
        batch(b"x" * 2000),
        batch(b"a", times=[TIME * 2]),
        good,
    ]
    answers = [ask(produce(topic, content)) for content in contents]
    return [*answers, ask(produce(topic, zstd, version=3)), ask(list_offsets(topic, -1))]


def produce_where_nothing_is(ask: Ask, topic: str) -> list[Any]:
    """Unknown topics and partitions, by name and by id; wrong acks; what needs a transaction."""
    made = create(ask, topic, 1)
    good = batch(b"a")
    return [
        ask(produce("nowhere", good)),
        ask(produce(topic, good, good)),
        ask(produce(topic, good, version=13, topic_id=made.topic_id)),
        ask(produce(topic, good, version=13, topic_id=UUID(int=7 << 64))),
        ask(produce(topic, good, acks=2)),
        ask(produce(topic, good, version=3)),
        ask(produce(topic, good, version=9)),
        ask(produce(topic, good, version=8)),
        ask(request(0, 12, acks=1, timeout=100, topic_data=[])),
    ]


def produce_with_idempotence(ask: Ask, topic: str) -> list[Any]:
    """Sequence numbers that come again, that are missing, of another epoch."""
    create(ask, topic)
    number = -1
    while number < 0:  # the real broker has to make its coordinator first
        given = request(22, 5, transactional_id=None, transaction_timeout=1000, producer_id=-1, producer_epoch=-1)
        number = ask(given).producer_id
        sleep(0.01)
    order = [(0, 0, 2), (0, 2, 1), (0, 0, 2), (0, 2, 1), (0, 4, 1), (0, 3, 1), (1, 3, 1), (1, 0, 1), (0, 4, 1)]
    order += [(1, at, 1) for at in range(1, 8)] + [(1, 1, 1), (1, 3, 1)]
    sent = [produce(topic, batch(*[b"v"] * count, producer=(number, epoch, first))) for epoch, first, count in order]
    return [*[ask(each) for each in sent], ask(list_offsets(topic, -1))]


def produce_with_the_brokers_time(ask: Ask, topic: str) -> list[Any]:
    create(ask, topic, message_timestamp_type="LogAppendTime")
    return [ask(produce(topic, batch(b"a", b"b")))]


def produce_without_keys_to_a_compacted_topic(ask: Ask, topic: str) -> list[Any]:
    create(ask, topic, cleanup_policy="compact")
    with_keys, without = batch(b"a", b"b", keys=[b"k", b"k"]), batch(b"a", b"b", keys=[b"k", None])
    return [ask(produce(topic, with_keys)), ask(produce(topic, without)), ask(delete_records(topic, 1))]


def init_producer_ids(ask: Ask, topic: str) -> list[Any]:
    """What is wrong with ids that a producer says it has."""
    bodies = [(7, -1), (-1, 7)]
    return [
        ask(request(22, 5, transactional_id=None, transaction_timeout=1000, producer_id=number, producer_epoch=epoch))
        for number, epoch in bodies
    ]


# Fetch.


def fetch_without_session(ask: Ask, topic: str) -> list[Any]:
    """Whole batches, bounds, offsets out of range, leader epochs, unknown topics; of several versions."""
    made = create(ask, topic, 2)
    for content in (batch(b"a", b"b"), batch(b"c"), batch(b"d", compression=1)):
        ask(produce(topic, content, content))
    ask(delete_records(topic, 1))
    asked = [fetch(topic, 1, 1), fetch(topic, 2, 4), fetch(topic, 4, 5), fetch(topic, 0, -1), fetch(topic, 1, 1, 0)]
    asked += [fetch(topic, 1, 1, most=1), fetch(topic, 1, 1, max_bytes=1), fetch(topic, 2, 1, max_bytes=80)]
    asked += [fetch(topic, 1, current_leader_epoch=epoch) for epoch in (0, 1, 7)]
    asked += [fetch("nowhere", 0), fetch("nowhere", 0, version=4)]
    asked += [fetch(topic, 2, version=version) for version in (4, 5, 7, 9, 11)]
    asked += [fetch(topic, 2, version=version, topic_id=made.topic_id) for version in (13, 15, 16, 17)]
    asked += [fetch(topic, 2, version=17, topic_id=UUID(int=7 << 64))]
    return [ask(each) for each in asked]


def fetch_in_a_session(ask: Ask, topic: str) -> list[Any]:
    """What a session tells again, what it leaves out; partitions forgotten and added; wrong numbers and epochs."""
    create(ask, topic, 3)
    ask(produce(topic, batch(b"a")))
    first = ask(fetch(topic, 0, 0, session_id=0, session_epoch=0))
    number = first.session_id
    assert number != 0
    moved = {"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 1, "partition_max_bytes": 1000}]}
    wrong = {"topic": topic, "partitions": [{"partition": 1, "fetch_offset": 9, "partition_max_bytes": 1000}]}
    right = {"topic": topic, "partitions": [{"partition": 1, "fetch_offset": 0, "partition_max_bytes": 1000}]}
    added = {"topic": topic, "partitions": [{"partition": 2, "fetch_offset": 0, "partition_max_bytes": 1000}]}
    answers = [first, ask(again(12, number, 1)), ask(again(12, number, 2, [moved]))]
    ask(produce(topic, batch(b"b"), batch(b"c")))
    answers += [ask(again(12, number, 3)), ask(again(12, number, 4, [wrong])), ask(again(12, number, 5))]
    answers += [ask(again(12, number, 6, [right])), ask(again(12, number, 7, [added]))]
    answers += [ask(again(12, number, 8, gone=[{"topic": topic, "partitions": [0, 1]}])), ask(again(12, number, 7))]
    answers += [ask(again(12, number + 100, 1)), ask(again(13, number, 9))]
    answers += [ask(again(12, number, 9, gone=[{"topic": topic, "partitions": [2]}])), ask(again(12, number, 10))]
    return answers


def fetch_in_a_session_by_id(ask: Ask, topic: str) -> list[Any]:
    made = create(ask, topic, 1)
    ask(produce(topic, batch(b"a")))
    first = ask(fetch(topic, 0, version=17, topic_id=made.topic_id, session_id=0, session_epoch=0))
    strange = {
        "topic_id": UUID(int=9 << 64),
        "partitions": [{"partition": 0, "fetch_offset": 1, "partition_max_bytes": 1000}],
    }
    number = first.session_id
    answers = [first, ask(again(17, number, 1, [strange])), ask(again(17, number, 2))]
    return [*answers, ask(again(12, number, 3)), ask(again(17, number, 3)), ask(again(17, number, -1))]


def order_in_sessions(ask: Ask, topic: str) -> list[Any]:
    """In which order a session tells of partitions that are there and that are not, while records come, positions move
    and partitions are added and forgotten: of each whether it has an error and records."""
    create(ask, topic, 4)
    told, choose = [], Random(4)
    for _ in range(4):
        number, offsets = 0, dict.fromkeys([(name, at) for name in (topic, "nope", "void") for at in range(4)], 0)
        for epoch in range(25):
            if choose.random() < 0.4:
                ask(produce(topic, *[batch(b"v")] * choose.randrange(1, 5)))
            wanted = choose.sample(list(offsets), choose.randrange(5) + 2 * (epoch == 0))
            parts = [{"partition": at, "fetch_offset": offsets[name, at]} for name, at in wanted]
            topics = [
                {"topic": name, "partitions": [{**part, "partition_max_bytes": 1000}]}
                for (name, _), part in zip(wanted, parts, strict=True)
            ]
            gone = [
                {"topic": name, "partitions": [at]} for name, at in choose.sample(list(offsets), choose.randrange(2))
            ]
            answer = ask(again(12, number, epoch, topics, gone if epoch else []))
            number = answer.session_id
            listed = [(each.topic, part) for each in answer.responses for part in each.partitions]
            for name, part in listed:
                if part.high_watermark > 0 and choose.random() < 0.6:
                    offsets[name, part.partition_index] = part.high_watermark
            told.append(tuple([(name, at.partition_index, at.error_code, bool(at.records)) for name, at in listed]))
    return told


# Offsets.


def delete_records(topic: str, *offsets: int) -> Any:
    """Before an offset of each partition from 0 on."""
    parts = [{"partition_index": at, "offset": offset} for at, offset in enumerate(offsets)]
    return request(21, 2, topics=[{"name": topic, "partitions": parts}], timeout=5000)


def offsets_by_time(ask: Ask, topic: str) -> list[Any]:
    """Within batches, of all compressions that kafka-python has here; ends; what versions do not have."""
    create(ask, topic, 2)
    empty = [ask(list_offsets(topic, each)) for each in (-1, -2, -3, -4, -5, 0)]
    ask(produce(topic, batch(b"a", b"b", b"c", times=[TIME, TIME + 20, TIME + 10])))
    ask(produce(topic, batch(b"d", b"e", times=[TIME + 5, TIME + 30], compression=1)))
    ask(delete_records(topic, 1))
    times = [-1, -2, -3, -4, -5, -7, 0, TIME, TIME + 10, TIME + 20, TIME + 21, TIME + 30, TIME + 31]
    found = [ask(list_offsets(topic, each)) for each in times]
    older = [ask(list_offsets(topic, each, version=version)) for version in (1, 6) for each in (-1, -3, TIME)]
    unknown = [ask(list_offsets("nowhere", -1)), ask(list_offsets(topic, -1, partition=5))]
    twice = request(
        2,
        10,
        replica_id=-1,
        topics=[
            {
                "name": topic,
                "partitions": [{"partition_index": 0, "timestamp": -1}, {"partition_index": 0, "timestamp": -2}],
            }
        ],
    )
    epochs = [ask(list_offsets(topic, -1, current_leader_epoch=each)) for each in (0, 3)]
    return [*empty, *found, *older, *unknown, ask(twice), *epochs]


def offsets_of_epochs(ask: Ask, topic: str) -> list[Any]:
    create(ask, topic, 1)
    ask(produce(topic, batch(b"a", b"b")))

    def asked(name: str, epoch: int, current: int = -1, version: int = 4) -> Any:
        parts = [{"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}]
        return request(23, version, replica_id=-1, topics=[{"topic": name, "partitions": parts}])

    return [
        *[ask(asked(topic, epoch)) for epoch in (-1, 0, 1, 7)],
        ask(asked(topic, 0, 0)),
        ask(asked(topic, 0, 5)),
        ask(asked("nowhere", 0)),
        ask(
            request(
                23,
                2,
                topics=[
                    {"topic": topic, "partitions": [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}]}
                ],
            )
        ),
    ]


def deleting_records(ask: Ask, topic: str) -> list[Any]:
    create(ask, topic, 2)
    ask(produce(topic, batch(b"a", b"b", b"c"), batch(b"d")))
    asked = [(2, -1), (1, 0), (3, 5), (4, -2), (0, 0, 0)]
    answers = [ask(delete_records(topic, *each)) for each in asked]
    return [*answers, ask(delete_records("nowhere", 0)), ask(list_offsets(topic, -2, -2)), ask(fetch(topic, 2))]


def leader_epochs_of_commits(ask: Ask, topic: str) -> list[Any]:
    """A commit's leader epoch comes back, by versions that have it; one that says none forgets it."""
    create(ask, topic, 2)

    def commit(offset: int, epoch: int | None, version: int) -> Any:
        part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "text"}
        part |= {} if epoch is None else {"committed_leader_epoch": epoch}
        topics = [{"name": topic, "partitions": [part]}]
        return request(8, version, group_id=topic, generation_id_or_member_epoch=-1, member_id="", topics=topics)

    def fetched(version: int) -> Any:
        topics = [{"name": topic, "partition_indexes": [0, 1]}]
        if version < 8:
            return request(9, version, group_id=topic, topics=topics)
        return request(9, version, groups=[{"group_id": topic, "topics": topics}], require_stable=False)

    for _ in range(300):
        # A new broker creates the topic of offsets when it is first asked for a coordinator.
        ask(request(10, 4, key_type=0, coordinator_keys=[topic]))
        if ask(fetched(9)).groups[0].error_code == 0:
            break
        sleep(0.05)
    found = []
    for offset, epoch, version in ((3, 0, 8), (4, 5, 9), (4, 7, 6), (5, -1, 9), (6, 2, 7), (7, None, 5)):
        found += [ask(commit(offset, epoch, version)), ask(fetched(4)), ask(fetched(7)), ask(fetched(9))]
    return found


RECORD_CASES: dict[str, Case] = {
    each.__name__: each
    for each in (
        produce_what_cannot_be,
        produce_where_nothing_is,
        produce_with_idempotence,
        produce_with_the_brokers_time,
        produce_without_keys_to_a_compacted_topic,
        init_producer_ids,
        fetch_without_session,
        fetch_in_a_session,
        fetch_in_a_session_by_id,
        order_in_sessions,
        offsets_by_time,
        offsets_of_epochs,
        deleting_records,
        leader_epochs_of_commits,
    )
}
