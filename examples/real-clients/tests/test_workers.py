"""The workers before a real broker: what must hold, and the bug in each."""

import asyncio
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest
from workers import CrashError, ThreadWorker, work

RECORDS = 30


def crashing(after: int) -> Callable[[Any], None]:
    """Handles so many records and dies in the next one."""
    lock, left = threading.Lock(), [after]

    def handle(message: Any) -> None:
        with lock:
            left[0] -= 1
            if left[0] < 0:
                raise CrashError

    return handle


def filled(broker: Any) -> Any:
    broker.create_topic("orders", 2)
    for partition in (0, 1):
        broker.produce("orders", "an order", partition=partition, count=RECORDS // 2)
    return broker.group("billing")


def until_all_committed(broker: Any) -> None:
    end = monotonic() + 20
    while sum(broker.committed("billing").values()) < RECORDS:
        assert monotonic() < end, broker.committed("billing")
        sleep(0.02)


def run_two_threads(broker: Any, *, commit_first: bool) -> Any:
    """One dies in the middle of its batch, the other one takes over."""
    group = filled(broker)
    first = ThreadWorker(broker.bootstrap, "first", group.watch(crashing(after=4)), commit_first=commit_first)
    first.start()
    first.join(20)
    second = ThreadWorker(broker.bootstrap, "second", group.watch(lambda message: None))
    second.start()
    until_all_committed(broker)
    second.over.set()
    second.join(20)
    return group


def test_no_order_is_lost_when_a_thread_worker_crashes(kafka_broker: Any) -> None:
    group = run_two_threads(kafka_broker, commit_first=False)
    group.assert_nothing_lost()
    group.assert_at_least_once(within=0)


def test_committing_before_handling_loses_orders(kafka_broker: Any) -> None:
    group = run_two_threads(kafka_broker, commit_first=True)
    with pytest.raises(AssertionError, match="lost"):
        group.assert_nothing_lost()


def run_two_tasks(broker: Any, *, commit_end_of_fetch: bool) -> Any:
    group = filled(broker)

    async def story() -> None:
        handle = group.watch(crashing(after=4))
        await work(broker.bootstrap, "first", handle, commit_end_of_fetch=commit_end_of_fetch)
        second = asyncio.create_task(work(broker.bootstrap, "second", group.watch(lambda message: None)))
        await asyncio.to_thread(until_all_committed, broker)
        second.cancel()
        await asyncio.wait([second])

    asyncio.run(story())
    return group


def test_no_order_is_lost_when_a_task_worker_crashes(kafka_broker: Any) -> None:
    run_two_tasks(kafka_broker, commit_end_of_fetch=False).assert_nothing_lost()


def test_committing_what_was_not_handled_loses_orders(kafka_broker: Any) -> None:
    with pytest.raises(AssertionError, match="lost"):
        run_two_tasks(kafka_broker, commit_end_of_fetch=True).assert_nothing_lost()
