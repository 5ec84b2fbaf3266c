"""The fixture for RocketMQ's clients, before clients that speak frames."""

import asyncio
from collections.abc import Generator

import pytest

from compare.testing.brokers import RocketMQBrokers
from protocols.errors import UserError
from protocols.java import Queue
from tests.rocketmq_selfbalance.wire.serving import Client, bodies_of


@pytest.fixture
def cluster() -> Generator[RocketMQBrokers, None, None]:
    cluster = RocketMQBrokers({"orders": 2})
    yield cluster
    cluster.close()


async def joined(cluster: RocketMQBrokers, client_id: str) -> Client:
    client = await Client.connect(cluster._cluster.addresses["broker-a"])
    await client.join(client_id, "g", {"orders": "*"})
    return client


def test_two_members_read_a_queue_each_and_one_is_cut_off(cluster: RocketMQBrokers) -> None:
    async def story() -> None:
        group = cluster.group("g")
        first, second = await joined(cluster, "c1"), await joined(cluster, "c2")
        await second.send("orders", 1, "hello")
        assert bodies_of(await second.pull("g", "orders", 1, 0)) == ["hello"]
        waits = first.pull("g", "orders", 0, 0, wait_ms=15_000)
        await group.settled()
        assert group.owners() == {
            "c1": (Queue("orders", "broker-a", 0),),
            "c2": (Queue("orders", "broker-a", 1),),
        }
        group.assert_optimal()
        cluster.disconnect("c1")
        with pytest.raises(asyncio.CancelledError):
            await waits
        for _ in range(200):
            if group.owners() == {"c2": (Queue("orders", "broker-a", 1),)}:
                break
            await asyncio.sleep(0.02)
        assert [event.describe() for event in group.world.scenario.events] == ["c1 joins", "c2 joins", "c1 crashes"]
        await second.close()

    asyncio.run(story())


def test_topics_and_brokers_change(cluster: RocketMQBrokers) -> None:
    async def story() -> None:
        client = await joined(cluster, "c1")
        group = cluster.group("g")
        cluster.set_queues("orders", 3)
        cluster.create_topic("payments", 1)
        assert {topic: len(queues) for topic, queues in group.topics.items()} == {"orders": 3, "payments": 1}
        cluster.stop("broker-a")
        cluster.start("broker-a")
        await client.close()
        again = await joined(cluster, "c1")
        assert list(group.members) == ["c1"]
        await again.close()

    asyncio.run(story())


def test_requests_are_refused_and_held_back_and_records_are_written(cluster: RocketMQBrokers) -> None:
    async def story() -> None:
        first, second = await joined(cluster, "c1"), await joined(cluster, "c2")
        cluster.produce("orders", "hello", "red", queue=1, count=2)
        rule = cluster.fail("PULL_MESSAGE", "SYSTEM_BUSY", client="c1", group="g")
        assert bodies_of(await second.pull("g", "orders", 1, 0)) == ["hello", "hello"]
        assert (await first.pull("g", "orders", 1, 0)).code == 2
        assert rule.left == 0
        assert bodies_of(await first.pull("g", "orders", 1, 1)) == ["hello"]
        cluster.fail("GET_CONSUMER_LIST_BY_GROUP", "SYSTEM_ERROR")
        refused = await first.ask(38, {"consumerGroup": "g"})
        assert (refused.code, refused.remark) == (1, "refused")
        with cluster.hold("QUERY_CONSUMER_OFFSET", group="g") as held:
            asked = second.begin(14, {"consumerGroup": "g", "topic": "orders", "queueId": "0"})
            other = await second.ask(14, {"consumerGroup": "other", "topic": "orders", "queueId": "0"})
            assert other.code == 22  # not found
            assert (len(held.kept), asked.done()) == (1, False)
        assert (await asyncio.wait_for(asked, 5)).code == 22
        await first.close()
        await second.close()

    asyncio.run(story())


def test_what_cannot_be_is_one_clear_line() -> None:
    with pytest.raises(UserError, match="brokers=0: expected 1 to 26"):
        RocketMQBrokers(brokers=0)


def test_unknown_requests_errors_and_queues_are_refused_with_one_line(cluster: RocketMQBrokers) -> None:
    with pytest.raises(UserError, match="no request 'PULL', expected one of GET_ROUTEINFO_BY_TOPIC, "):
        cluster.fail("PULL", "SYSTEM_ERROR")
    with pytest.raises(UserError, match="no error 'BUSY', expected one of no lock, SYSTEM_BUSY, "):
        cluster.fail("PULL_MESSAGE", "BUSY")
    with pytest.raises(UserError, match="no queue 2 of 'orders' on broker-a"):
        cluster.produce("orders", "x", queue=2)
