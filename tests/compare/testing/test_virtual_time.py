"""The code under test sleeps and looks at the clock in virtual time."""

import datetime
import threading
import time
from time import monotonic, sleep
from typing import Any

import pytest

from compare.testing import Clock, Group, kafka_group

EARLIEST = {"auto.offset.reset": "earliest", "enable.auto.commit": False}


class Batches:
    """Handles records in batches, of ten or after five seconds."""

    def __init__(self, consumer: Any, handle: Any) -> None:
        self.consumer, self.handle = consumer, handle
        self.sizes: list[int] = []

    def run(self) -> None:
        self.consumer.subscribe(["orders"])
        batch: list[Any] = []
        since = monotonic()
        while True:
            message = self.consumer.poll(0.5)
            if message is not None:
                batch.append(message)
            if batch and monotonic() - since > 5:
                self.handle(batch)
                self.consumer.commit(batch[-1], asynchronous=False)
                self.sizes.append(len(batch))
                batch, since = [], monotonic()


def test_a_buffer_that_is_flushed_by_the_clock_is_flushed() -> None:
    group = kafka_group(topics={"orders": 1}, produce=1)
    batches = Batches(group.consumer("c1", EARLIEST), group.watch(lambda batch: None))
    begun = time.monotonic()
    with group.virtual_time():
        group.run(batches.run, seconds=60)
    assert time.monotonic() - begun < 30
    assert len(batches.sizes) >= 9
    group.assert_at_least_once(within=8)


def test_python_tells_the_virtual_time_and_afterwards_the_real_one() -> None:
    clock = Clock()
    clock.advance(seconds=90)
    today, real = datetime.datetime.now(), time.time
    with clock.virtual_time():
        assert (time.time(), monotonic(), time.perf_counter_ns()) == (90.0, 90.0, 90_000_000_000)
        sleep(2.5)
        assert time.time() == clock.now == 92.5
        utc = datetime.datetime(1970, 1, 1, 0, 1, 32, 500_000)
        assert datetime.datetime.now(datetime.UTC).replace(tzinfo=None) == utc
        assert isinstance(datetime.datetime.now(), datetime.datetime)
        assert isinstance(today, datetime.datetime)
        assert datetime.date.today().year in (1969, 1970)
        seen: list[float] = []
        other = threading.Thread(target=lambda: seen.append(time.time()))
        other.start()
        other.join()
        assert seen[0] > 1e9
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1)
    assert time.time is real
    assert datetime.datetime.now() >= today


def test_code_that_waits_by_looking_at_the_clock_comes_to_an_end() -> None:
    clock = Clock()
    with clock.virtual_time():
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
    assert clock.now >= 0.05


def _sleeper(group: Group, seconds: float) -> Any:
    def loop(consumer: Any) -> None:
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is not None and not message.error() and message.offset() == 10:
                time.sleep(seconds)

    return lambda: loop(group.consumer("c1", EARLIEST))


def test_others_live_while_the_code_sleeps_and_the_poll_interval_counts() -> None:
    group = kafka_group(members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()
    with group.virtual_time():
        group.run(_sleeper(group, 90), seconds=110)
    assert any("max.poll.interval.ms" in line for line in group.story().splitlines())
    assert "c2" in {each.member for each in group.timeline.deliveries if each.until > 90_000}


def test_sleeping_code_is_killed_and_stopped_like_any_other() -> None:
    group = kafka_group()
    group.clock.at(20, lambda: group.crash("c1"))
    with group.virtual_time():
        group.run(_sleeper(group, 1000))
        assert group.clock.now == pytest.approx(20, abs=2)
        group.run(_sleeper(group, 1000), seconds=100)
    assert group.clock.now < 125


def test_the_fixture_gives_the_whole_test_virtual_time(virtual_time: Clock) -> None:
    time.sleep(3600)
    assert virtual_time.now == time.monotonic() == 3600
