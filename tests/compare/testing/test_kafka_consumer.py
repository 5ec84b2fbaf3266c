"""A user's loop on the double of confluent-kafka's consumer: calls, callbacks, errors, and what happens in between."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.testing import Crashed, Group, kafka_group
from compare.testing.confluent.errors import KafkaErrorDouble, KafkaExceptionDouble, TopicPartitionDouble
from compare.testing.confluent.messages import error_message
from compare.testing.strategies import faults

EARLIEST = {"auto.offset.reset": "earliest"}


class Worker:
    """Code as people write it: handles a record, then commits it."""

    def __init__(self, consumer: Any, handle: Callable[[Any], None]) -> None:
        self.consumer, self.handle = consumer, handle
        self.told: list[tuple[str, list[int]]] = []
        self.errors: list[str] = []

    def run(self) -> None:
        self.consumer.subscribe(["orders"], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is None:
                    continue
                if message.error():
                    self.errors.append(message.error().name())
                    continue
                self.handle(message)
                self.commit(message)
        finally:
            self.consumer.close()

    def commit(self, message: Any) -> None:
        try:
            self.consumer.commit(message=message, asynchronous=False)
        except KafkaException as error:
            self.errors.append(error.args[0].name())

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        self.told.append(("assigned", [each.partition for each in partitions]))

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        self.told.append(("revoked", [each.partition for each in partitions]))

    def _lost(self, consumer: Any, partitions: list[Any]) -> None:
        self.told.append(("lost", [each.partition for each in partitions]))


def _worker(group: Group, member: str = "c1", **config: Any) -> Worker:
    whole = {"bootstrap.servers": "kafka:9092", "group.id": "group", **EARLIEST, "enable.auto.commit": False, **config}
    consumer = group.consumer(member, whole)
    return Worker(consumer, group.watch(lambda message: None))


def test_a_loop_gets_the_records_of_its_partitions_in_order() -> None:
    group = kafka_group(topics={"orders": 2}, produce=2)
    seen: list[tuple[int, int, bytes, float]] = []

    def handle(message: Any) -> None:
        assert message.timestamp()[1] / 1000 <= group.clock.now
        seen.append((message.partition(), message.offset(), message.value(), group.clock.now))

    worker = Worker(group.consumer("c1", EARLIEST), handle)
    group.run(worker.run, seconds=20)
    for partition in (0, 1):
        offsets = [offset for number, offset, _, _ in seen if number == partition]
        assert offsets == list(range(len(offsets)))
    assert seen[0][2] == b"orders-0/0"
    assert 2 * 2 * 19 <= len(seen) <= 2 * 2 * 20
    assert worker.told == [("assigned", [0, 1]), ("revoked", [0, 1])]
    assert group.handled_twice() == group.never_handled() == []
    assert group.owners() == {}


def test_poll_takes_exactly_its_timeout_where_nothing_comes() -> None:
    group = kafka_group(produce=0)
    consumer = group.consumer("c1", EARLIEST)
    consumer.subscribe(["orders"])
    assert consumer.poll(2.5) is None
    assert group.clock.now == 2.5
    assert consumer.consume(10, timeout=0.5) == []
    assert group.clock.now == 3.0
    with pytest.raises(RuntimeError, match="no record came for an hour"):
        consumer.poll()


def test_an_error_that_names_no_record_is_none_that_was_handled() -> None:
    group = kafka_group(members=["c1"])
    group.watch(lambda message: None)(error_message("_ALL_BROKERS_DOWN", "all brokers are down"))
    assert group.handled_twice() == []


def test_cooperative_callbacks_name_only_what_changes() -> None:
    group = kafka_group(topics={"orders": 4}, assignor="cooperative-sticky")
    worker = _worker(group)
    group.clock.at(40, lambda: group.join("c3"))
    group.run(worker.run, seconds=60)
    assert worker.told[0] == ("assigned", [0, 1, 2, 3])
    assert worker.told[1][0] == "revoked"
    assert len(worker.told[1][1]) == 2
    assert worker.told[2] == ("assigned", [])


def test_offsets_committed_in_on_revoke_are_taken_before_others_go_on() -> None:
    group = kafka_group(topics={"orders": 2}, members=["c2"], produce=5).settle()
    consumer = group.consumer("c1", {**EARLIEST, "enable.auto.commit": False})
    committed: list[Any] = []

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        committed.extend(consumer.commit(asynchronous=False))
        assert consumer.committed(partitions) == consumer.position(partitions)

    def loop() -> None:
        consumer.subscribe(["orders"], on_revoke=revoked)
        while True:
            consumer.poll(0.5)

    group.clock.at(30, lambda: group.join("c0"))
    group.run(loop, seconds=40)
    assert len(committed) == 1
    assert group.handled_twice() == group.never_handled() == []


@pytest.mark.parametrize("number", [3, 17, 30, 31])
def test_what_happens_between_two_calls_can_be_chosen(number: int) -> None:
    group = kafka_group(topics={"orders": 2}, members=["c2"]).settle()
    worker = _worker(group)
    struck: list[int] = []

    def crash() -> None:
        struck.append(group.handling.calls)
        group.crash("c1")

    group.interrupt(crash, after_calls=number)
    group.run(worker.run, seconds=60)
    assert struck == [number]
    assert "c1" not in group.members
    with pytest.raises(Crashed):
        worker.consumer.poll(1)


def test_an_exception_can_be_raised_into_the_code() -> None:
    group = kafka_group()
    worker = _worker(group)
    group.interrupt(KeyboardInterrupt, before_call=12)
    with pytest.raises(KeyboardInterrupt):
        group.run(worker.run)
    assert group.owners() == {}
    assert worker.told[-1][0] == "revoked"
    with pytest.raises(RuntimeError, match="closed"):
        worker.consumer.poll(1)
    with pytest.raises(ValueError, match="either"):
        group.interrupt(KeyboardInterrupt)


def test_code_that_is_too_slow_is_thrown_out_and_its_commit_refused() -> None:
    group = kafka_group(members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()
    worker = _worker(group)
    slow = iter([False] * 20 + [True])
    worker.handle = group.watch(lambda message: next(slow, False) and group.clock.advance(seconds=100))
    group.run(worker.run, seconds=200)
    assert worker.errors[0] == "UNKNOWN_MEMBER_ID"
    assert "_MAX_POLL_EXCEEDED" in worker.errors
    assert ("lost", [0, 1, 2]) in worker.told
    assert len(group.handled_twice()) >= 1
    assert group.never_handled() == []


def test_a_commit_while_the_group_rebalances_is_refused_as_such() -> None:
    group = kafka_group(topics={"orders": 2}, members=["c2"]).settle()
    worker = _worker(group)
    group.interrupt(lambda: (group.hang("c1", seconds=100), group.clock.advance(seconds=99)), after_calls=20)
    group.run(worker.run, seconds=200)
    assert set(worker.errors) <= {
        "UNKNOWN_MEMBER_ID",
        "ILLEGAL_GENERATION",
        "REBALANCE_IN_PROGRESS",
        "_MAX_POLL_EXCEEDED",
    }
    assert worker.errors
    assert ("lost", [0]) in worker.told or ("lost", [1]) in worker.told


def test_a_static_member_that_is_replaced_is_fenced_for_good() -> None:
    group = kafka_group(topics={"orders": 2})
    worker = _worker(group, **{"group.instance.id": "one"})
    group.clock.at(30, lambda: group.join("twin", instance_id="one"))
    group.run(worker.run, seconds=60)
    assert "_FATAL" in worker.errors
    assert "twin" in group.members


def test_a_configuration_is_taken_as_it_is_and_a_name_that_nobody_knows_refused_as_in_the_real_client() -> None:
    group = kafka_group()
    group.consumer(
        "c1",
        {
            "bootstrap.servers": "db:9092",
            "group.id": "billing",
            "sasl.username": "u",
            "on_commit": print,
            "logger": None,
        },
    )
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        group.consumer("c1", {"bootstrap.servers": "db:9092"})
    with pytest.raises(KafkaException) as refused:
        group.consumer("c2", {"session.timeoutt.ms": 6000})
    error = refused.value.args[0]
    assert error.code() == KafkaError._INVALID_ARG
    assert error.str() == 'No such configuration property: "session.timeoutt.ms"'


@settings(max_examples=30, deadline=None)
@given(faults(["c2", "c3"], most=4, within=60), st.integers(1, 200), st.integers(0, 99))
def test_code_that_commits_after_handling_never_loses_a_record(schedule: Any, calls: int, seed: int) -> None:
    group = kafka_group(topics={"orders": 4}, members=["c2", "c3"], seed=seed, assignor="cooperative-sticky")
    group.schedule(schedule)
    worker = _worker(group)
    group.interrupt(lambda: "c1" in group.members and group.crash("c1"), after_calls=calls)
    group.run(worker.run, seconds=100)
    group.settle()
    assert group.never_handled() == []


def test_without_confluent_kafka_doubles_of_its_classes_serve() -> None:
    error = KafkaErrorDouble(22, "no", fatal=True)
    assert (error.code(), error.name(), error.str(), error.fatal()) == (22, "ILLEGAL_GENERATION", "no", True)
    assert error == KafkaErrorDouble.ILLEGAL_GENERATION  # type: ignore[attr-defined]
    assert KafkaExceptionDouble(error).args[0] is error
    partitions = [TopicPartitionDouble("b", 1), TopicPartitionDouble("a", 2, 5), TopicPartitionDouble("a", 1)]
    assert [(each.topic, each.partition) for each in sorted(partitions)] == [("a", 1), ("a", 2), ("b", 1)]
    assert TopicPartitionDouble("a", 2) == partitions[1]
    assert len({TopicPartitionDouble("a", 2), partitions[1]}) == 1
