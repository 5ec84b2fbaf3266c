"""A consumer that has unsubscribed is not as one that never subscribed: double and real client, on a served broker."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from compare.testing import kafka_group
from compare.testing.brokers import KafkaBroker

CONFIG: dict[str, object] = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "group.id": "g"}


def answers(consumer: Any) -> list[str]:
    """What each call comes to, in order."""
    found = []

    def ask(call: Callable[[], object]) -> None:
        try:
            call()
            found.append("ok")
        except KafkaException as error:
            found.append(error.args[0].name())

    def poll_until(owned: int) -> None:
        for _ in range(100):
            if len(consumer.assignment()) == owned:
                break
            consumer.poll(0.1)
        found.append(str(len(consumer.assignment())))

    def commit(offset: int) -> None:
        consumer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)

    consumer.subscribe(["orders"])
    ask(lambda: consumer.incremental_unassign([TopicPartition("orders", 0)]))  # no assignor is known yet
    poll_until(3)
    consumer.unsubscribe()
    poll_until(0)
    ask(lambda: commit(1))
    ask(lambda: consumer.assign([TopicPartition("orders", 1)]))
    ask(consumer.unassign)
    ask(lambda: consumer.incremental_assign([TopicPartition("orders", 2)]))
    ask(lambda: consumer.incremental_unassign([TopicPartition("orders", 2)]))
    consumer.subscribe(["orders"])
    poll_until(3)
    ask(lambda: commit(2))
    consumer.unsubscribe()
    consumer.subscribe(["orders"])  # before a poll has told of the revocation
    consumer.poll(0.5)
    poll_until(3)
    ask(lambda: commit(3))
    consumer.close()
    return found


@pytest.mark.parametrize(
    "how",
    [
        {"partition.assignment.strategy": "range"},
        {"partition.assignment.strategy": "cooperative-sticky"},
        {"group.protocol": "consumer"},
    ],
)
def test_a_member_that_has_left_commits_and_assigns_as_its_group_wants_it(how: Mapping[str, object]) -> None:
    group = kafka_group(topics={"orders": 3}, produce=0, name="g")
    double = answers(group.confluent().Consumer({"bootstrap.servers": "kafka:9092", **CONFIG, **how}))
    broker = KafkaBroker()
    try:
        broker.create_topic("orders", 3)
        real = answers(Consumer({"bootstrap.servers": broker.bootstrap, "log_level": 0, **CONFIG, **how}))
    finally:
        broker.close()
    assert double == real
    assert "UNKNOWN_MEMBER_ID" in real
