"""Records of unmodified clients: written by one, read by another, byte for byte; and topics that each creates."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioTopic
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.admin import KafkaAdminClient
from kafka.admin import NewTopic as PythonTopic

from kafka_coordinator.wire.records.contents import UnreadableError, records
from kafka_coordinator.wire.state import ServerSettings
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.rows import rows
from tests.waiting import until

Row: TypeAlias = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]
"""Key, value, headers, timestamp."""

BEGAN = 1_700_000_000_000
ROWS: list[Row] = [
    (b"k", b"v", (), BEGAN),
    (None, b"only a value", (("trace", b"\x00\xff"), ("trace", b"again"), ("empty", b"")), BEGAN + 10),
    (b"deleted", None, (), BEGAN + 20),
    (b"", b"", (), BEGAN + 30),
    (b"long", bytes(range(256)) * 300, (("name", b"value"),), BEGAN + 40),
]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving({}) as made:
        yield made


def by_confluent(server: Serving, topic: str, codec: str) -> None:
    producer = Producer(
        {"bootstrap.servers": server.bootstrap, "compression.type": codec, "linger.ms": 20, "log_level": 0}
    )
    for key, value, headers, time_ms in ROWS:
        producer.produce(topic, value, key, partition=0, timestamp=time_ms, headers=list(headers))
    assert producer.flush(10) == 0


def by_aiokafka(server: Serving, topic: str, codec: str) -> None:
    async def told() -> None:
        chosen = None if codec == "none" else codec
        async with AIOKafkaProducer(
            bootstrap_servers=server.bootstrap, compression_type=chosen, enable_idempotence=True, linger_ms=20
        ) as producer:
            sent = [
                await producer.send(topic, value, key, partition=0, timestamp_ms=at, headers=list(headers))
                for key, value, headers, at in ROWS
            ]
            for each in sent:
                await each

    asyncio.run(told())


def by_kafka_python(server: Serving, topic: str, codec: str) -> None:
    chosen = None if codec == "none" else codec
    producer = KafkaProducer(bootstrap_servers=server.bootstrap, compression_type=chosen, linger_ms=20)
    sent = [
        producer.send(topic, value, key, partition=0, timestamp_ms=at, headers=list(headers))
        for key, value, headers, at in ROWS
    ]
    for each in sent:
        each.get(10)
    producer.close()


def read_by_confluent(server: Serving, topic: str) -> list[Row]:
    return [row_of(each) for each in consumed(server, topic, len(ROWS))]


def consumed(server: Serving, topic: str, count: int, offset: int = 0, **settings: Any) -> list[Message]:
    config = {"bootstrap.servers": server.bootstrap, "group.id": "none", "check.crcs": True, "log_level": 0}
    consumer = Consumer({**config, **{name.replace("_", "."): value for name, value in settings.items()}})
    consumer.assign([TopicPartition(topic, 0, offset)])
    found: list[Message] = []
    end = time.monotonic() + 10
    while len(found) < count and time.monotonic() < end:
        for each in consumer.consume(10_000, 0.2):
            assert each.error() is None, each.error()
            found.append(each)
    consumer.close()
    return found


def row_of(message: Message) -> Row:
    headers = tuple([(name, value) for name, value in message.headers() or ()])
    return message.key(), message.value(), headers, message.timestamp()[1]


def read_by_aiokafka(server: Serving, topic: str) -> list[Row]:
    async def told() -> list[Row]:
        async with AIOKafkaConsumer(bootstrap_servers=server.bootstrap, check_crcs=True) as consumer:
            consumer.assign([AioPartition(topic, 0)])
            await consumer.seek_to_beginning()
            found = [await asyncio.wait_for(consumer.getone(), 10) for _ in ROWS]
            return [(each.key, each.value, tuple(each.headers), each.timestamp) for each in found]

    return asyncio.run(told())


def read_by_kafka_python(server: Serving, topic: str) -> list[Row]:
    consumer = KafkaConsumer(
        bootstrap_servers=server.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=10_000, check_crcs=True
    )
    consumer.assign([PythonPartition(topic, 0)])
    found = [next(consumer) for _ in ROWS]
    consumer.close()
    return [(each.key, each.value, tuple(each.headers), each.timestamp) for each in found]


def create(server: Serving, *topics: str, **configs: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
    given = {name.replace("_", "."): value for name, value in configs.items()}
    for done in admin.create_topics([NewTopic(each, 1, config=given) for each in topics]).values():
        done.result(10)
    return admin


@rows("codec", CODECS)
def test_what_librdkafka_writes_it_reads_again_whatever_the_compression(codec: str, server: Serving) -> None:
    create(server, f"own-{codec}")
    by_confluent(server, f"own-{codec}", codec)
    assert read_by_confluent(server, f"own-{codec}") == ROWS


@rows(
    ("write", "read", "codec"),
    [
        (by_confluent, read_by_aiokafka, "gzip"),
        (by_confluent, read_by_kafka_python, "none"),
        (by_aiokafka, read_by_confluent, "none"),
        (by_aiokafka, read_by_kafka_python, "gzip"),
        (by_kafka_python, read_by_confluent, "gzip"),
        (by_kafka_python, read_by_aiokafka, "none"),
    ],
)
def test_what_one_client_writes_another_reads(
    write: Callable[[Serving, str, str], None], read: Callable[[Serving, str], list[Row]], codec: str, server: Serving
) -> None:
    topic = f"{write.__name__}-{read.__name__}-{codec}"
    create(server, topic)
    write(server, topic, codec)
    assert read(server, topic) == ROWS


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_aiokafka_and_librdkafka_read_each_others_compression(codec: str, server: Serving) -> None:
    pytest.importorskip("cramjam", reason="aiokafka needs it for this compression")
    topics = [f"aio-{codec}", f"confluent-{codec}"]
    create(server, *topics)
    by_aiokafka(server, topics[0], codec)
    by_confluent(server, topics[1], codec)
    assert read_by_confluent(server, topics[0]) == ROWS
    assert read_by_aiokafka(server, topics[1]) == ROWS


@pytest.mark.parametrize("codec", CODECS)
def test_a_consumer_finds_the_record_of_a_time_inside_a_batch(codec: str, server: Serving) -> None:
    if codec not in ("none", "gzip"):
        pytest.importorskip("cramjam", reason="without it the batch's first record is found")
    topic = f"time-{codec}"
    create(server, topic)
    by_confluent(server, topic, codec)
    consumer = Consumer({"bootstrap.servers": server.bootstrap, "group.id": "none", "log_level": 0})
    asked = [TopicPartition(topic, 0, BEGAN + each) for each in (0, 1, 20, 39, 41)]
    found = [consumer.offsets_for_times([each], 10)[0].offset for each in asked]
    consumer.close()
    assert found == [0, 1, 2, 4, -1]


def test_a_batch_of_which_nothing_can_be_read_gives_its_first_offset() -> None:
    from kafka_coordinator.wire.records.batches import header_of, placed
    from kafka_coordinator.wire.records.log import PartitionLog
    from kafka_coordinator.wire.records.offsets import Found, offset_at
    from tests.kafka_coordinator.wire.broker_cases import TIME, batch, changed

    log = PartitionLog(1)
    broken = changed(batch(b"a", b"b", compression=1), 61, b"no gzip")
    for _ in range(2):
        log.append(broken, header_of(broken))
    with pytest.raises(UnreadableError):
        list(records(placed(broken, 0, 0), header_of(broken)))
    assert offset_at(log, TIME + 1, log.end) == Found(0, TIME, 0)


def test_a_consumer_that_waits_gets_a_record_at_once(server: Serving) -> None:
    create(server, "waited")
    config = {"bootstrap.servers": server.bootstrap, "group.id": "none", "fetch.wait.max.ms": 5000, "log_level": 0}
    consumer = Consumer(config)
    consumer.assign([TopicPartition("waited", 0, 0)])
    assert consumer.poll(0.5) is None
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 0, "log_level": 0})
    producer.produce("waited", b"first", partition=0)
    producer.flush(10)
    assert consumer.poll(5) is not None
    took = []
    for _ in range(10):
        began = time.perf_counter()
        producer.produce("waited", b"v", partition=0)
        producer.poll(0)
        assert consumer.poll(5) is not None
        took.append(time.perf_counter() - began)
    consumer.close()
    producer.flush(10)
    assert sorted(took)[5] < 0.1


def test_an_idempotent_producer_loses_nothing_and_writes_nothing_twice_when_connections_break(server: Serving) -> None:
    create(server, "idempotent")
    producer = Producer(
        {
            "bootstrap.servers": server.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 1,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
            "log_level": 0,
        }
    )
    (name,) = server.cluster.brokers
    for number in range(5000):
        producer.produce("idempotent", str(number).encode(), partition=0)
        if number % 500 == 499:
            producer.poll(0.02)
            server.loop.call(server.world.disconnect, name)
    assert producer.flush(20) == 0
    assert [int(each.value()) for each in consumed(server, "idempotent", 5000)] == list(range(5000))


def test_each_admin_client_creates_describes_and_deletes_topics(server: Serving) -> None:
    admin = create(server, "by-confluent", retention_bytes="5000")
    (described,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "by-confluent")]).values()
    assert described.result(10)["retention.bytes"].value == "5000"
    change = ConfigEntry("retention.bytes", "7000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "by-confluent", incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(10)
    (described,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "by-confluent")]).values()
    assert described.result(10)["retention.bytes"].value == "7000"

    python = KafkaAdminClient(bootstrap_servers=server.bootstrap)
    python.create_topics([PythonTopic("by-python", 3, 1)])

    async def told() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=server.bootstrap)
        await client.start()
        await client.create_topics([AioTopic("by-aio", 2, 1)])
        await client.close()

    asyncio.run(told())
    topics = admin.list_topics(timeout=10).topics
    assert {name: len(topics[name].partitions) for name in ("by-confluent", "by-python", "by-aio")} == {
        "by-confluent": 1,
        "by-python": 3,
        "by-aio": 2,
    }
    with pytest.raises(KafkaException) as refused:
        create(server, "by-aio")
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    python.delete_topics(["by-aio"])
    python.close()
    assert "by-aio" not in admin.list_topics(timeout=10).topics


def test_old_records_go_where_a_topic_holds_too_much(server: Serving) -> None:
    admin = create(server, "bounded", retention_bytes="100000")
    for _ in range(40):
        by_confluent(server, "bounded", "none")
    asked = {TopicPartition("bounded", 0): spec for spec in (OffsetSpec.earliest(),)}
    (found,) = admin.list_offsets(asked).values()
    first = found.result(10).offset
    assert 0 < first < 200
    assert server.cluster.storage.log("bounded", 0).cost <= 100_000
    assert [each.offset() for each in consumed(server, "bounded", 200 - first, first)] == list(range(first, 200))
    late = consumed(server, "bounded", 1, 0, auto_offset_reset="earliest")
    assert late[0].offset() == first


def test_a_topic_that_a_producer_names_is_created_unless_the_broker_forbids_it(server: Serving) -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap, "log_level": 0})
    producer.produce("made-by-use", b"v")
    assert producer.flush(10) == 0
    until(lambda: "made-by-use" in server.cluster.controller.preferred)
    forbids = ServerSettings(auto_create_topics_enable=False)
    with serving({}, server=forbids) as strict:
        failed: list[Any] = []
        settings = {"bootstrap.servers": strict.bootstrap, "message.timeout.ms": 1500, "log_level": 0}
        producer = Producer({**settings, "topic.metadata.propagation.max.ms": 200})
        producer.produce("never", b"v", callback=lambda error, _: failed.append(error.code()))
        assert producer.flush(10) == 0
        assert failed == [KafkaError.UNKNOWN_TOPIC_OR_PART]
