"""Producers: what their constructor takes, what every call answers, what delivery reports tell; transactions, and what
consumers read of them."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from confluent_kafka import TopicPartition

from tests.compare.testing.differential.probing import add, probe, told
from tests.compare.testing.differential.worlds import World

KEYS: Final = ("", "a", "order-1", "order-22", "Grüße", "0123456789abcdef")

CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "unknown-name": {"nope": 1},
    "delivery-callback": {"on_delivery": 1},
    "partitioner": {"partitioner": "nope"},
    "linger-text": {"linger.ms": "x"},
    "linger-negative": {"linger.ms": -1},
    "linger-fraction": {"linger.ms": 0.5},
    "acks-too-many": {"acks": "2000"},
    "acks-all": {"acks": "all"},
    "error-callback": {"error_cb": 1},
    "internal-callback": {"dr_cb": 1},
    "commit-callback": {"on_commit": print},
    "transactions-not-idempotent": {"transactional.id": "x", "enable.idempotence": False},
    "transaction-timeout": {"transactional.id": "x", "transaction.timeout.ms": 5},
    "idempotent-one-ack": {"enable.idempotence": True, "acks": 1},
    "idempotent-in-flight": {"enable.idempotence": True, "max.in.flight": 7},
    "idempotent": {"enable.idempotence": True},
    "reset": {"auto.offset.reset": "x"},
    "topic-settings": {"default.topic.config": {"acks": "2000"}},
    "queue-negative": {"queue.buffering.max.messages": -1},
    "truth": {"enable.idempotence": "maybe"},
}

CALLS: Final[dict[str, Callable[[World, Any], Any]]] = {
    "no-topic": lambda w, p: p.produce(),
    "topic-number": lambda w, p: p.produce(1),
    "topic-none": lambda w, p: p.produce(None),
    "value-number": lambda w, p: p.produce(w.topic, 5),
    "value-bytearray": lambda w, p: p.produce(w.topic, bytearray(b"x")),
    "key-number": lambda w, p: p.produce(w.topic, "x", 5),
    "key-bytearray": lambda w, p: p.produce(w.topic, "x", bytearray(b"x")),
    "partition-text": lambda w, p: p.produce(w.topic, "x", partition="a"),
    "headers-number": lambda w, p: p.produce(w.topic, "x", headers=5),
    "headers-no-pairs": lambda w, p: p.produce(w.topic, "x", headers=[1]),
    "headers-values": lambda w, p: p.produce(w.topic, "x", headers={"a": 1}),
    "headers-pair-values": lambda w, p: p.produce(w.topic, "x", headers=[("a", 1)]),
    "headers-names": lambda w, p: p.produce(w.topic, "x", headers=[(1, "b")]),
    "timestamp-text": lambda w, p: p.produce(w.topic, "x", timestamp="a"),
    "too-large": lambda w, p: p.produce(w.topic, "x" * 2_000_000),
    "unknown-argument": lambda w, p: type(told(lambda: p.produce(w.topic, nope=1))),
    "all-positions": lambda w, p: p.produce(w.topic, "x", "k", 0, None, None, 0, None),
    "poll-text": lambda w, p: p.poll("x"),
    "poll-none": lambda w, p: p.poll(None),
    "poll-nothing": lambda w, p: p.poll(0),
    "flush-text": lambda w, p: p.flush("x"),
    "flush-nothing": lambda w, p: [p.flush(), p.flush(0), p.flush(-1)],
    "purge-nothing": lambda w, p: [p.purge(), p.purge(in_queue=True, in_flight=False, blocking=False)],
    "length": lambda w, p: [len(p), bool(p)],
    "a-member-of-with": lambda w, p: p.__enter__() is p,
    "topics": lambda w, p: sorted(p.list_topics(w.topic, 5).topics[w.topic].partitions),
    "log-in": lambda w, p: p.set_sasl_credentials("a", "b"),
    "init": lambda w, p: p.init_transactions(),
    "begin": lambda w, p: p.begin_transaction(),
    "commit": lambda w, p: p.commit_transaction(),
    "abort": lambda w, p: p.abort_transaction(),
    "send-offsets-no-metadata": lambda w, p: p.send_offsets_to_transaction([], 1),
    "send-offsets-no-list": lambda w, p: p.send_offsets_to_transaction(5, b"x"),
    "send-offsets-bad-metadata": lambda w, p: p.send_offsets_to_transaction([w.partition(0, 3)], b"x"),
    "commit-text": lambda w, p: p.commit_transaction("x"),
    "batch-values": lambda w, p: p.produce_batch(w.topic, [{"value": b"x"}, {"value": 5}]),
    "batch": lambda w, p: [p.produce_batch(w.topic, [{"value": b"x"}, {"key": "k", "value": "z"}]), p.flush(5)],
    "batch-no-list": lambda w, p: p.produce_batch(w.topic, 5),
}


def _error_of(error: Any) -> list[Any]:
    return [None, None] if error is None else [error.name(), error.str()]


def _content(message: Any) -> list[Any]:
    where = [message.topic(), message.partition(), message.offset(), message.leader_epoch()]
    return [*where, message.key(), message.value(), message.headers(), type(message.latency())]


def reported(producer: Any, told_of: list[Any]) -> list[Any]:
    """What the reports tell, once everything is delivered: without times, sorted."""
    left = producer.flush(10)
    found = [[*_error_of(error), *_content(message)] for error, message in told_of]
    return [left, sorted(told(lambda: found), key=repr)]


def telling(world: World, **config: Any) -> tuple[Any, list[Any]]:
    """A producer, and the reports that it tells."""
    reports: list[Any] = []
    return world.producer(on_delivery=lambda *report: reports.append(report), **config), reports


def _closed(world: World, call: Callable[[World, Any], Any]) -> Any:
    producer = world.producer()
    return [producer.close(), told(lambda: call(world, producer)), len(producer)]


def _transactional(world: World, call: Callable[[World, Any], Any], begins: bool) -> Any:
    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    if begins:
        producer.begin_transaction()
    return [told(lambda: call(world, producer)), told(producer.begin_transaction)]


for _name, _config in CONFIGURATIONS.items():
    add(f"producer-config-{_name}", lambda world, config=_config: type(world.producer(**config)).__name__)
for _name, _call in CALLS.items():
    add(f"producer-{_name}", lambda world, call=_call: call(world, world.producer()))
    add(f"producer-closed-{_name}", lambda world, call=_call: _closed(world, call))
for _name in [
    "all-positions",
    "init",
    "begin",
    "commit",
    "abort",
    "send-offsets-no-metadata",
    "send-offsets-bad-metadata",
]:
    _call = CALLS[_name]
    add(f"producer-ready-{_name}", lambda world, call=_call: _transactional(world, call, begins=False))
    add(f"producer-in-transaction-{_name}", lambda world, call=_call: _transactional(world, call, begins=True))
for _name in ("consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"):

    def _keyed(world: World, name: str = _name) -> Any:
        producer, reports = telling(world, partitioner=name)
        for key in KEYS if "random" not in name else KEYS[1:]:
            producer.produce(world.topic, key, key=key)
        return reported(producer, reports)

    add(f"producer-partitioner-{_name.replace('_', '-')}", _keyed)


@probe()
def producer_reports(world: World) -> Any:
    producer, reports = telling(world)
    for number in range(3):
        producer.produce(world.topic, f"v{number}", key="k", partition=0, headers={"a": "x", "b": b"y", "c": None})
    waiting = len(producer)
    return [waiting, reported(producer, reports), len(producer), producer.poll(0)]


@probe()
def producer_reports_of_a_partition_that_is_not_there(world: World) -> Any:
    producer, reports = telling(world)
    producer.produce(world.topic, "x", partition=9)
    first = reported(producer, reports)
    return [first, told(lambda: producer.produce(world.topic, "x", partition=9))]


@probe()
def producer_reports_of_its_own(world: World) -> Any:
    producer, reports = telling(world)
    own: list[Any] = []
    producer.produce(world.topic, "x", partition=0, callback=lambda *report: own.append(report))
    producer.produce(world.topic, "y", partition=0, on_delivery=lambda *report: own.append(report))
    return [reported(producer, own), len(reports)]


@probe()
def producer_only_errors(world: World) -> Any:
    producer, reports = telling(world, delivery_report_only_error=True)
    producer.produce(world.topic, "x", partition=0)
    return reported(producer, reports)


@probe()
def producer_a_report_that_raises(world: World) -> Any:
    def fail(error: Any, message: Any) -> None:
        raise ValueError("no")

    producer = world.producer()
    producer.produce(world.topic, "x", on_delivery=fail)
    return [told(lambda: producer.flush(10)), len(producer)]


@probe()
def producer_queue_full(world: World) -> Any:
    producer, reports = telling(world, queue_buffering_max_messages=2, linger_ms=300)
    answers = [told(lambda: producer.produce(world.topic, "x", partition=0)) for _ in range(3)]
    return [answers, len(producer), producer.poll(0), producer.flush(0), reported(producer, reports)]


@probe()
def producer_purge(world: World) -> Any:
    producer, reports = telling(world, linger_ms=5000)
    producer.produce(world.topic, "first", partition=0)
    producer.flush(10)
    producer.produce(world.topic, "x", partition=1)
    producer.purge(in_queue=True)
    return reported(producer, reports)


# Transactions.

_MOCK_FENCES_NOBODY: Final = "the mock cluster lets both producers of one transactional.id go on"


def _read(world: World, count: int, **config: Any) -> list[Any]:
    consumer = world.consumer(**config)
    consumer.assign([world.partition(0, 0)])
    found = [(each.offset(), each.value()) for each in world.read(consumer, count)]
    return [found, consumer.get_watermark_offsets(world.partition(0), timeout=5)]


@probe()
def transaction_committed(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name)
    producer.init_transactions()
    for value in ("a", "b"):
        producer.begin_transaction()
        producer.produce(world.topic, value, partition=0)
        producer.commit_transaction()
    return [reported(producer, reports), _read(world, 2)]


@probe()
def transaction_of_several_partitions(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    for number in (0, 1):
        producer.produce(world.topic, "a", partition=number)
    producer.commit_transaction()
    consumer = world.consumer()
    return [reported(producer, reports), consumer.get_watermark_offsets(world.partition(1), timeout=5)]


@probe()
def transaction_aborted_in_the_queue(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name, linger_ms=1000)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "first", partition=0)
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(world.topic, "x", partition=0)
    producer.abort_transaction()
    return [reported(producer, reports), _read(world, 1)]


@probe()
def transaction_empty(world: World) -> Any:
    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    answers = []
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        answers.append(end())
    return [answers, told(producer.abort_transaction), world.consumer().get_watermark_offsets(world.partition(0), 5)]


@probe()
def transaction_with_a_failed_record(world: World) -> Any:
    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "good", partition=0)
    producer.produce(world.topic, "bad", partition=9)
    failed = told(producer.commit_transaction)
    return [failed, told(producer.abort_transaction), told(producer.begin_transaction)]


@probe()
def transaction_with_a_report_that_raises(world: World) -> Any:
    def fail(error: Any, message: Any) -> None:
        raise ValueError("no")

    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "x", on_delivery=fail)
    return told(producer.commit_transaction)


@probe()
def transaction_with_offsets(world: World) -> Any:
    producer, consumer = world.producer(transactional_id=world.name), world.consumer()
    metadata = consumer.consumer_group_metadata()
    producer.init_transactions()
    outside = told(lambda: producer.send_offsets_to_transaction([world.partition(0, 3)], metadata))
    producer.begin_transaction()
    inside = [
        told(partial(producer.send_offsets_to_transaction, offsets, metadata))
        for offsets in ([world.partition(0, 3)], [], [TopicPartition(world.topic, 0)])
    ]
    return [outside, inside, told(producer.commit_transaction)]


@probe()
def consumer_group_metadata(world: World) -> Any:
    consumer = world.consumer()
    before = consumer.consumer_group_metadata()
    consumer.close()
    return [before, told(consumer.consumer_group_metadata)]


@probe()
def consumer_group_metadata_of_a_member(world: World) -> Any:
    metadata = world.joined(world.consumer()).consumer_group_metadata()
    group, member, last = metadata[11:].split(b"\0")
    return [metadata[:7], group, bool(member), last]


@probe(mock=_MOCK_FENCES_NOBODY)
def transaction_of_a_fenced_producer(world: World) -> Any:
    older = world.producer(transactional_id=world.name)
    older.init_transactions()
    older.begin_transaction()
    older.produce(world.topic, "x", partition=0)
    world.producer(transactional_id=world.name).init_transactions()
    return told(older.commit_transaction)
