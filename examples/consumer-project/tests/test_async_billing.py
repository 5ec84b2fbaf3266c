"""The coroutine on aiokafka, before a broker that runs beside the test."""

import asyncio

import pytest

pytest.importorskip("aiokafka")

from billing.async_consumer import bill

RECORDS = 60


class CrashError(Exception):
    """The process ends: nothing more is booked or committed."""


@pytest.fixture
def group(kafka_broker):
    kafka_broker.create_topic("orders", 2)
    for partition in (0, 1):
        kafka_broker.produce("orders", "an order", partition=partition, count=RECORDS // 2)
    return kafka_broker.group("billing")


async def book(record):
    """Books a record."""


def instance(broker, group, name):
    """The service as a task."""
    settings = {"bootstrap_servers": broker.bootstrap, "client_id": name, "heartbeat_interval_ms": 100}
    return asyncio.create_task(bill(group.watch(book), **settings))


async def until_all_is_booked(broker):
    async with asyncio.timeout(20):
        while sum(broker.committed("billing").values()) < RECORDS:
            await asyncio.sleep(0.01)


async def ended(*instances):
    for task in instances:
        task.cancel()
    await asyncio.wait(instances)


def test_every_record_is_booked_once_in_quiet_times(kafka_broker, group):
    async def story():
        service = instance(kafka_broker, group, "c1")
        await until_all_is_booked(kafka_broker)
        await ended(service)

    asyncio.run(story())
    group.assert_handled_once()
    group.assert_at_least_once(within=0)


def test_a_second_instance_takes_half_of_the_work(kafka_broker, group):
    async def story():
        instances = [instance(kafka_broker, group, name) for name in ("c1", "c2")]
        await until_all_is_booked(kafka_broker)
        await group.settled()
        assert {member: len(partitions) for member, partitions in group.owners().items()} == {"c1": 1, "c2": 1}
        await ended(*instances)

    asyncio.run(story())
    group.assert_nothing_lost()


@pytest.mark.parametrize("records", range(1, RECORDS, 6))
def test_no_crash_between_booking_and_commit_loses_a_record(kafka_broker, group, records):
    booked = []

    async def book_and_crash(record):
        booked.append(record)
        group.handled(record, "c1")
        if len(booked) == records:
            raise CrashError

    async def story():
        with pytest.raises(CrashError):
            await bill(book_and_crash, bootstrap_servers=kafka_broker.bootstrap, client_id="c1")
        service = instance(kafka_broker, group, "c2")
        await until_all_is_booked(kafka_broker)
        await ended(service)

    asyncio.run(story())
    group.assert_nothing_lost()
    with pytest.raises(AssertionError, match="1 record was handled more than once"):
        group.assert_handled_once()
