"""`KafkaBroker.fail` for every API: each version's answer tells the error, and real clients take it as it is meant."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from compare.testing.brokers import KafkaBroker
from kafka_coordinator.wire import entities
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.schemas import request_schema
from protocols.errors import UserError
from tests.kafka_coordinator.wire.plain import plain, request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.waiting import until

ERROR, TOLD = "UNKNOWN_SERVER_ERROR", "unknown_server_error"
_VALUES: dict[str, Any] = {"string": "orders", "bytes": b"", "records": b"", "bool": False}


def filled(kind: Any, topic_id: UUID) -> Any:
    """A request with one item in every array, about the topic of this id."""
    values = {**_VALUES, "uuid": topic_id}
    given = {}
    for each in fields(kind):
        kafka_type = each.metadata.get("kafka_type")
        if each.name.endswith("session_epoch"):
            given[each.name] = -1
        elif each.name == "acks":
            given[each.name] = 1
        elif kafka_type is None:
            item = entities.part(kind, each.name)
            made = filled(item, topic_id) if is_dataclass(item) else 0
            given[each.name] = (made,) if "tuple" in str(each.type) else made
        elif "tuple" in str(each.type):
            given[each.name] = (values.get(kafka_type, 0),)
        elif kafka_type in values and (
            each.default is MISSING or each.name in ("name", "protocol_type", "protocol_name")
        ):
            given[each.name] = values[kafka_type]
        elif kafka_type.startswith("timedelta"):
            continue
        elif each.default is MISSING:
            given[each.name] = 0
    kept = {each.name for each in fields(kind) if each.default is MISSING}
    given |= {name: timedelta(seconds=1) for name in kept - given.keys()}
    return kind(**given)


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    broker = KafkaBroker({"orders": 1}, kafka_version="4.4")
    yield broker
    broker.close()


def errors_in(value: Any) -> int:
    if isinstance(value, dict):
        return sum(errors_in(each) for each in value.values())
    if isinstance(value, list):
        return sum(errors_in(each) for each in value)
    return int(value == TOLD)


@pytest.mark.parametrize("name", [api.name for api in APIS.values()])
def test_every_version_of_every_api_can_be_refused(name: str, broker: KafkaBroker) -> None:
    api = next(each for each in APIS.values() if each.name == name)
    client = RawClient(broker.bootstrap)
    topic_id = client.ask(request(3, 12, topics=[{"name": "orders"}])).topics[0].topic_id
    for version in range(api.versions[0], api.versions[1] + 1):
        rule = broker.fail(name, ERROR)
        answer = client.ask(filled(request_schema(api.key, version), topic_id))
        assert rule.left == 0
        assert errors_in(plain(answer)) == 1, (version, answer)
    client.close()


def test_a_produce_that_wants_no_answer_has_its_connection_closed(broker: KafkaBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": 0, "log_level": 0, "linger.ms": 0})
    rule = broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
    producer.produce("orders", b"lost", partition=0)
    assert producer.flush(10) == 0
    until(lambda: rule.left == 0)
    assert delivered(producer) is None


def delivered(producer: Producer) -> str | None:
    """The name of the error of one record; None where it was delivered."""
    reports: list[Any] = []
    producer.produce("orders", b"x", partition=0, on_delivery=lambda error, message: reports.append(error))
    assert producer.flush(20) == 0
    return None if reports[0] is None else str(reports[0].name())


def test_a_producer_tries_again_or_tells_its_user(broker: KafkaBroker) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0, "linger.ms": 0, "retry.backoff.ms": 10}
    producer = Producer(settings)
    for error, told in (
        ("NOT_LEADER_OR_FOLLOWER", None),
        ("MESSAGE_TOO_LARGE", "MSG_SIZE_TOO_LARGE"),
        ("TOPIC_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"),
    ):
        rule = broker.fail("Produce", error)
        before = broker.end_offset("orders")
        assert delivered(producer) == told
        assert rule.left == 0
        assert broker.end_offset("orders") == before + (told is None)


def test_an_idempotent_producer_without_an_id_tries_again(broker: KafkaBroker) -> None:
    rule = broker.fail("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS", times=2)
    settings = {"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0}
    assert delivered(Producer(settings)) is None
    assert rule.left == 0


def read(broker: KafkaBroker, until: Callable[[list[Any]], bool], **settings: Any) -> list[Any]:
    """What a reader of the partition is given, errors among it."""
    given = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "reader",
        "log_level": 0,
        "enable.auto.commit": False,
        "fetch.error.backoff.ms": 10,
    }
    consumer = Consumer(given | settings)
    consumer.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])
    found: list[Any] = []
    for _ in range(200):
        if until(found):
            break
        message = consumer.poll(0.1)
        if message is not None:
            found.append(message)
    consumer.close()
    return found


def test_a_reader_is_told_or_begins_again() -> None:
    broker = KafkaBroker({"orders": 1})
    try:
        broker.produce("orders", "x", count=3)
        rule = broker.fail("Fetch", "TOPIC_AUTHORIZATION_FAILED")
        first = read(broker, lambda found: any(each.error() is None for each in found))
        assert rule.left == 0
        assert first[0].error().name() == "TOPIC_AUTHORIZATION_FAILED"
        rule = broker.fail("Fetch", "FETCH_SESSION_ID_NOT_FOUND")
        found = read(broker, lambda found: len(found) == 3)
        assert [each.offset() for each in found] == [0, 1, 2]
        assert rule.left == 0
    finally:
        broker.close()


def test_an_administrator_is_told_by_the_call_that_was_refused(broker: KafkaBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    broker.fail("DescribeConfigs", "CLUSTER_AUTHORIZATION_FAILED")
    resource = ConfigResource(ResourceType.TOPIC, "orders")
    with pytest.raises(KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
        admin.describe_configs([resource])[resource].result(10)
    assert "retention.ms" in admin.describe_configs([resource])[resource].result(10)
    broker.fail("ListOffsets", "TOPIC_AUTHORIZATION_FAILED")
    partition = TopicPartition("orders", 0)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(10)
    broker.fail("ListGroups", "COORDINATOR_NOT_AVAILABLE")
    (error,) = admin.list_consumer_groups().result(10).errors
    assert error.name() == "COORDINATOR_NOT_AVAILABLE"


def test_a_topic_that_seems_to_have_no_leader_is_asked_for_again(broker: KafkaBroker) -> None:
    rule = broker.fail("Metadata", "LEADER_NOT_AVAILABLE", times=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    assert delivered(producer) is None
    assert rule.left == 0


def test_what_is_not_about_groups_has_none(broker: KafkaBroker) -> None:
    with pytest.raises(UserError, match="Produce is not about a group"):
        broker.fail("Produce", ERROR, group="g")
