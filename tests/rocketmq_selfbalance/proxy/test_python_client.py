"""The released Python client (rocketmq-python-client) before a served proxy."""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)

from compare.testing.brokers import RocketMQBrokers
from tests.waiting import until


@pytest.fixture(scope="module")
def brokers() -> Generator[RocketMQBrokers, None, None]:
    cluster = RocketMQBrokers(brokers=2)
    yield cluster
    cluster.close()


@contextmanager
def running(*clients: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for client in clients:
            started(client)
            stack.callback(client.shutdown)
        yield


def started(client: Any) -> None:
    """The client opens its telemetry stream in the thread that hears the first route. Where the route is there before
    the client listens for it, that is the caller's thread: it has no event loop once `asyncio.run` ran in it, so the
    client waits 10 s for settings that it has never asked for, and fails a second time when it cleans up."""
    for _ in range(3):
        with suppress(AttributeError):
            client.startup()
            return
    raise AssertionError("three starts without settings")


def configured(brokers: RocketMQBrokers) -> ClientConfiguration:
    """The client gives a request 3 s, which a busy machine may pass: where that happens to the first QueryRoute, a push
    consumer waits for settings that it has never asked for."""
    return ClientConfiguration(brokers.proxy, Credentials(), request_timeout=30)


def message(topic: str, body: str, **more: Any) -> Message:
    made = Message()
    made.topic, made.body = topic, body.encode()
    for name, value in more.items():
        setattr(made, name, value)
    return made


class Listener(MessageListener):  # type: ignore[misc]
    """Keeps bodies and attempts; the first so many attempts at a body fail."""

    def __init__(self, fail: int = 0) -> None:
        self.fail = fail
        self.heard: list[tuple[str, int]] = []

    def consume(self, message: Message) -> ConsumeResult:
        self.heard.append((message.body.decode(), message.delivery_attempt))
        return ConsumeResult.FAILURE if message.delivery_attempt <= self.fail else ConsumeResult.SUCCESS


def received(consumer: SimpleConsumer, count: int, left: tuple[str, int] | None = None) -> list[tuple[str, int]]:
    """Body and attempt of so many messages, each acked at once but `left`. The client asks one queue after the other
    and waits 5 s at each that is empty: what is acked later than that comes again."""
    heard: list[tuple[str, int]] = []
    end = time.monotonic() + 60
    while len(heard) < count:
        assert time.monotonic() < end, f"{heard} of {count} messages came"
        try:
            messages = consumer.receive(16, 10)
        except Exception:  # the topic is not there yet
            time.sleep(0.5)
            continue
        for got in messages:
            heard.append((got.body.decode(), got.delivery_attempt))
            if heard[-1] != left:
                consumer.ack(got)
    return heard


def test_a_simple_consumer_gets_what_a_producer_sent_and_again_what_it_has_not_acked(brokers: RocketMQBrokers) -> None:
    brokers.create_topic("jobs", 2)
    producer = Producer(configured(brokers), ("jobs",))
    consumer = SimpleConsumer(configured(brokers), "workers", {"jobs": FilterExpression("t")}, 5)
    with running(producer, consumer):
        for number in range(4):
            producer.send(message("jobs", f"m{number}", tag="t", keys=f"k{number}"))
        heard = received(consumer, 5, left=("m2", 1))
    assert sorted(heard) == [("m0", 1), ("m1", 1), ("m2", 1), ("m2", 2), ("m3", 1)]


def test_a_push_consumer_tries_again_and_gives_up_to_the_dead_letters(brokers: RocketMQBrokers) -> None:
    brokers.create_topic("mails", 1)
    brokers.create_group("mailers", most_retries=1)
    producer, listener = Producer(configured(brokers), ("mails",)), Listener(fail=9)
    consumer = PushConsumer(configured(brokers), "mailers", listener, {"mails": FilterExpression("bad")})
    with running(producer, consumer):
        producer.send(message("mails", "poison", tag="bad"))
        producer.send(message("mails", "for nobody", tag="other"))
        until(lambda: len(listener.heard) == 2, 30)
        assert listener.heard == [("poison", 1), ("poison", 2)]
        dead = SimpleConsumer(configured(brokers), "undertakers", {"%DLQ%mailers": FilterExpression()}, 5)
        with running(dead):
            buried = received(dead, 1)
    assert [body for body, _ in buried] == ["poison"]
    assert len(listener.heard) == 2


def test_a_fifo_group_keeps_the_order_of_each_message_group(brokers: RocketMQBrokers) -> None:
    brokers.create_topic("ledger", 2, kind="FIFO")
    brokers.create_group("bookers", in_order=True)
    producer = Producer(configured(brokers), ("ledger",))
    listeners = [Listener(), Listener()]
    consumers = [
        PushConsumer(configured(brokers), "bookers", listener, {"ledger": FilterExpression()}) for listener in listeners
    ]
    with running(producer, *consumers):
        for number in range(12):
            producer.send(message("ledger", f"{number % 3}:{number}", message_group=f"account-{number % 3}"))
        until(lambda: sum(len(listener.heard) for listener in listeners) == 12, 30)
    for account in range(3):
        heard = [body for listener in listeners for body, _ in listener.heard if body.startswith(f"{account}:")]
        assert sorted(heard, key=lambda body: int(body[2:])) == [
            f"{account}:{number}" for number in range(account, 12, 3)
        ]


class Checker(TransactionChecker):  # type: ignore[misc]
    def check(self, message: Message) -> TransactionResolution:
        return TransactionResolution.ROLLBACK


def test_a_producer_sends_delayed_messages_and_transactions_and_is_refused_other_kinds(
    brokers: RocketMQBrokers,
) -> None:
    brokers.create_topic("later", 1, kind="DELAY")
    brokers.create_topic("orders", 1, kind="TRANSACTION")
    topics = {"later": FilterExpression(), "orders": FilterExpression()}
    producer = Producer(configured(brokers), ("later", "orders"), Checker())
    listener = Listener()
    with running(producer, PushConsumer(configured(brokers), "any", listener, topics)):
        kept, dropped = producer.begin_transaction(), producer.begin_transaction()
        producer.send(message("orders", "kept"), kept)
        producer.send(message("orders", "dropped"), dropped)
        kept.commit()
        dropped.rollback()
        began = time.time()
        producer.send(message("later", "in two seconds", delivery_timestamp=int(began) + 2))
        until(lambda: len(listener.heard) == 2, 30)
        assert time.time() >= int(began) + 2
        with pytest.raises(Exception, match="message type"):
            producer.send(message("orders", "neither", message_group="g"))
    assert sorted(body for body, _ in listener.heard) == ["in two seconds", "kept"]
