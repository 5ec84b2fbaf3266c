"""What a user writes whose own code is typed: checked by `test_types`, and never run."""

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from hypothesis import given

from equipoise.protocols import UserError
from equipoise.testing import Clock, Crashed, Group, GroupPair, KafkaBroker, RealGroup, Record, RocketMQBrokers
from equipoise.testing import kafka_group as new_group
from equipoise.testing.contents import Content
from equipoise.testing.rocketmq.push_consumer import CONSUME_SUCCESS, ConsumeConcurrentlyStatus, MessageExt
from equipoise.testing.strategies import faults


class Service:
    """Code under test."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer, self.total = consumer, 0
        self.audit: Producer | None = None

    def handle(self, message: Message) -> int:
        self.total += len(message.value() or b"")
        return self.total

    def run(self) -> int:
        self.consumer.subscribe(["orders"])
        message = self.consumer.poll(1.0)
        return 0 if message is None else self.handle(message)


def test_a_group(kafka_group: Group, clock: Clock) -> None:
    group = kafka_group(topics={"orders": 6}, members=["c1", "c2"], assignor="sticky", produce=2, seed=1).settle()
    service = Service(group.consumer("c3", {"auto.offset.reset": "earliest"}))
    service.handle = group.watch(service.handle)  # type: ignore[method-assign]
    total: int | None = group.run(service.run, seconds=30)
    service.consumer.assign([TopicPartition("orders", 0)])
    group.interrupt(lambda: group.crash("c1"), after_calls=3)
    clock.advance(seconds=60, minutes=1)
    group.assert_fair(max_over_mean=1.2)
    group.assert_at_least_once(within=5)
    records: list[Record] = group.handled_twice()
    assert (total, records, group.owner("orders", 0)) == (0, [], "c1")
    service.audit = group.confluent().Producer({"bootstrap.servers": "kafka:9092"})
    assert group.records.write([(group.topics["orders"][0], Content(b"x"))]) == [0]


def test_a_pair(group_pair: GroupPair) -> None:
    pair = group_pair(members=["c1"], assignor="range", strategy="AVG").settle()
    pair.kafka.crash("c1")
    pair.assert_optimal()


def test_a_listener(rocketmq_group: Group) -> None:
    def listener(messages: list[MessageExt]) -> ConsumeConcurrentlyStatus:
        bodies: list[bytes] = [message.body for message in messages]
        return CONSUME_SUCCESS if bodies else ConsumeConcurrentlyStatus.RECONSUME_LATER

    consumer = rocketmq_group.push_consumer("c1")
    consumer.register_message_listener(rocketmq_group.watch(listener))
    try:
        consumer.start()
    except (Crashed, UserError):
        rocketmq_group.assert_nothing_lost()


def test_brokers(kafka_broker: KafkaBroker, rocketmq_cluster: RocketMQBrokers) -> None:
    kafka_broker.produce("orders", b"x", count=3)
    group: RealGroup = kafka_broker.group("billing").settle(within=5)
    owner: str | None = group.owner("orders", 0)
    with kafka_broker.hold("Heartbeat", until=1.0) as held:
        assert (owner, len(held.kept), rocketmq_cluster.name_server) == (None, 0, "")


@given(faults(["c1"]))
def test_all(schedule: tuple[object, ...]) -> None:
    new_group(members=["c1"]).settle().assert_no_gap(longer_than=len(schedule))
