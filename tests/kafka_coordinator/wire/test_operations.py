"""What happens to a served cluster while a real consumer is in a group."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from kafka_coordinator.wire.served import Operations
from protocols.errors import UserError
from protocols.facts import Owns, RebalanceBegan
from tests.kafka_coordinator.wire.serving import AT_ONCE, Serving, serving
from tests.kafka_coordinator.wire.test_python_clients import comes

ALL = [0, 1, 2, 3, 4, 5]


def story(told: Callable[[Serving, Operations], Awaitable[None]], **more: Any) -> None:
    with serving(settings=AT_ONCE | {"offsets.topic.num.partitions": 3}, **more) as it:
        asyncio.run(told(it, Operations(it.cluster)))  # type: ignore[arg-type]


def member(it: Serving, name: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "orders",
        bootstrap_servers=it.bootstrap,
        group_id="g",
        client_id=name,
        heartbeat_interval_ms=100,
        retry_backoff_ms=20,
        metadata_max_age_ms=500,
    )


def test_partitions_are_added_and_the_group_takes_them() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = member(it, "c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": ALL})
        it.loop.call(operations.add_partitions, "orders", 8)
        await comes(lambda: it.owned("g") == {"c1": [*ALL, 6, 7]})
        await consumer.stop()

    story(told)


def test_a_topic_that_a_client_asks_for_is_created() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = AIOKafkaConsumer("made", bootstrap_servers=it.bootstrap, group_id="g", client_id="c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": [0]})
        await consumer.stop()
        with pytest.raises(UserError, match="exists already"):
            it.loop.call(operations.create_topic, "made", 3)

    story(told, topics={})


def test_the_coordinator_moves_and_members_follow_it() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = member(it, "c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": ALL})
        first = consumer._coordinator.coordinator_id
        moved = it.loop.call(operations.move_coordinator, "g")
        assert moved != f"b{first}"
        await comes(lambda: consumer._coordinator.coordinator_id not in (first, None))
        await asyncio.sleep(0.3)
        assert it.owned("g") == {"c1": ALL}
        assert len(it.facts(RebalanceBegan)) == 1, "the group came over as it was"
        await consumer.stop()

    story(told, brokers=("b1", "b2", "b3"))


def test_brokers_stop_and_return_and_members_go_on() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = member(it, "c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": ALL})
        coordinator = f"b{consumer._coordinator.coordinator_id}"
        port = it.cluster.addresses[coordinator].port
        it.loop.call(operations.stop, coordinator)
        await comes(lambda: f"b{consumer._coordinator.coordinator_id}" not in (coordinator, "bNone"))
        await asyncio.sleep(0.3)
        assert it.owned("g") == {"c1": ALL}
        it.loop.run(operations.bring_back(coordinator))
        assert it.cluster.addresses[coordinator].port == port
        await consumer.commit({next(iter(consumer.assignment())): 4})
        await consumer.stop()

    story(told, brokers=("b1", "b2", "b3"))


def test_a_client_that_is_cut_off_comes_back_as_the_same_member() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = member(it, "c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": ALL})
        assert it.loop.call(operations.disconnect, "c1") >= 2
        assert it.loop.call(operations.disconnect, "nobody") == 0
        await asyncio.sleep(0.5)
        assert it.owned("g") == {"c1": ALL}
        assert len(it.facts(Owns)) == 1
        await consumer.stop()

    story(told)


def test_a_session_ends_without_waiting_for_it() -> None:
    async def told(it: Serving, operations: Operations) -> None:
        consumer = member(it, "c1")
        await consumer.start()
        await comes(lambda: it.owned("g") == {"c1": ALL})
        it.loop.call(operations.expire, "g", "c1")
        await comes(lambda: len(it.facts(Owns)) == 3)
        assert [len(fact.queues) for fact in it.facts(Owns)] == [6, 0, 6], "it is told, and joins anew"
        with pytest.raises(UserError, match="no member 'c9'"):
            it.loop.call(operations.expire, "g", "c9")
        await consumer.stop()

    story(told)
