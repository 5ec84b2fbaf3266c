"""Asyncio code runs in virtual time: timers, queues and timeouts as ever, and no thread sleeps."""

import asyncio
import time
from typing import Any

import pytest

from compare.testing import kafka_group
from protocols.errors import UserError

LONG_S = 3600.0
MOST_WALL_S = 5.0


def test_timers_queues_and_timeouts_take_virtual_time_only() -> None:
    group = kafka_group()
    begin = time.monotonic()

    async def main() -> list[Any]:
        queue: asyncio.Queue[int] = asyncio.Queue()

        async def feed() -> None:
            for number in range(3):
                await asyncio.sleep(LONG_S)
                await queue.put(number)

        feeding = asyncio.create_task(feed())
        found: list[Any] = [await queue.get() for _ in range(3)]
        await feeding
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(queue.get(), LONG_S)
        return [*found, await asyncio.to_thread(lambda: "thread")]

    assert group.run(main()) == [0, 1, 2, "thread"]
    assert group.clock.now == 4 * LONG_S
    assert time.monotonic() - begin < MOST_WALL_S


def test_a_deadlock_ends_with_what_is_wrong() -> None:
    group = kafka_group()

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="something that cannot come"):
        group.run(main())


def test_the_time_limit_cancels_and_lets_the_code_clean_up() -> None:
    group = kafka_group()
    cleaned: list[float] = []

    async def main() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)
            cleaned.append(group.clock.now)

    assert group.run(main, seconds=10) is None
    assert cleaned == [11.0]


def test_code_that_goes_on_after_its_time_is_told() -> None:
    async def main() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue

    with pytest.raises(RuntimeError, match="still runs"):
        kafka_group().run(main, seconds=10)


def test_a_loop_that_never_sleeps_sees_time_pass() -> None:
    group = kafka_group()

    async def main() -> float:
        while group.clock.now < 0.005:
            await asyncio.sleep(0)
        return group.clock.now

    assert group.run(main()) >= 0.005


def test_an_exception_comes_out_of_run() -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        kafka_group().run(main())


def test_what_is_put_on_the_clock_wakes_the_loop() -> None:
    group = kafka_group()

    async def main() -> float:
        done = asyncio.get_running_loop().create_future()
        group.clock.at(30, lambda: done.set_result(group.clock.now))
        return float(await done)

    assert group.run(main()) == 30


def test_a_consumer_outside_of_the_loop_is_refused() -> None:
    consumer = kafka_group().aiokafka().AIOKafkaConsumer

    async def elsewhere() -> None:
        consumer("orders")

    with pytest.raises(UserError, match=r"group\.run"):
        asyncio.run(elsewhere())
    with pytest.raises(RuntimeError, match="within an async function"):
        consumer("orders")
