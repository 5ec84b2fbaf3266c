"""Calls of a double from several threads are served one after the other, those during a callback as well."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from compare.testing import kafka_group
from protocols.errors import UserError

EARLIEST = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
RECORDS = 200


def test_a_worker_commits_what_the_loop_reads() -> None:
    group = kafka_group(topics={"orders": 2}, produce=0).produce("orders", RECORDS)
    consumer: Any = group.consumer("c1", EARLIEST)
    work: Queue[Any] = Queue()

    def commit() -> None:
        while (message := work.get()) is not None:
            consumer.commit(message=message, asynchronous=False)

    worker = Thread(target=commit)
    worker.start()
    consumer.subscribe(["orders"])
    seen = 0
    while seen < RECORDS:
        message = consumer.poll(1.0)
        if message is not None:
            seen += 1
            work.put(message)
    work.put(None)
    worker.join(timeout=30)
    assert not worker.is_alive()
    assert sum(each.offset for each in consumer.committed(consumer.assignment())) == RECORDS
    consumer.close()


def test_a_callback_may_wait_for_another_thread_that_calls() -> None:
    group = kafka_group(topics={"orders": 2}, produce=0)
    consumer: Any = group.consumer("c1", EARLIEST)
    answers: list[Any] = []
    with ThreadPoolExecutor(1) as pool:

        def assigned(consumer: Any, partitions: list[Any]) -> None:
            answers.append(pool.submit(consumer.committed, partitions).result(timeout=30))

        consumer.subscribe(["orders"], on_assign=assigned)
        group.run(lambda: [consumer.poll(1.0) for _ in range(10)])
    assert [[each.partition for each in found] for found in answers] == [[0, 1]]


def test_two_consumers_live_in_threads_of_their_own() -> None:
    group = kafka_group(topics={"orders": 4}, produce=0).produce("orders", RECORDS)

    def read(name: str) -> set[tuple[int, int]]:
        consumer: Any = group.consumer(name, EARLIEST)
        consumer.subscribe(["orders"])
        found = set()
        for _ in range(300):
            message = consumer.poll(0.1)
            if message is not None:
                found.add((message.partition(), message.offset()))
        return found

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(read, ["c1", "c2"])
    assert len(first | second) == RECORDS
    group.settle().assert_no_double_ownership()


def test_consumers_of_one_group_name_one_group_id() -> None:
    group = kafka_group(topics={"orders": 1})
    address = {"bootstrap.servers": "kafka:9092"}
    group.consumer("c1", {**address, "group.id": "billing"})
    group.consumer("c2", {**address, "group.id": "billing"})
    with pytest.raises(UserError, match=r"group.id is 'shipping' in a group whose group.id is 'billing'"):
        group.consumer("c3", {**address, "group.id": "shipping"})


def test_a_group_that_has_a_name_is_of_this_group_id() -> None:
    group = kafka_group(topics={"orders": 1}, name="billing")
    with pytest.raises(UserError, match=r"expected one group.id for all of them, or a group of its own"):
        group.consumer("c1", {"bootstrap.servers": "kafka:9092", "group.id": "shipping"})
