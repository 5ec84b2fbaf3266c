"""The events of a scenario befall a served cluster at their times."""

import asyncio

import pytest

from compare.serving.cluster import Served, start
from protocols.errors import UserError
from protocols.scenario.reading import read_text

SCENARIO = """
name: a day of servers
brokers: [b1, b2]
topics: {orders: 2}
group: {name: g, members: {c1: {subscribe: [orders]}}}
run: {for: 1min}
events:
  - {at: 20ms, add_topic: {refunds: 1}}
  - {at: 30ms, broker: b2, does: kill}
  - {at: 60ms, broker: b2, does: return}
  - {at: 500ms, queues: {orders: 5}}
  - {at: 900ms, network: cut, between: [b1], for: 50ms}
  - {at: 1100ms, delete_topic: refunds}
  - {at: 1200ms, crash: c1}
"""


async def until_events(served: Served, count: int) -> list[str]:
    for _ in range(500):
        found = sorted(served.history.events.values(), key=lambda each: each.at)
        if len(found) >= count:
            return [each.describe() for each in found]
        await asyncio.sleep(0.01)
    raise AssertionError([each.describe() for each in served.history.events.values()])


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_servers_and_topics_change_and_members_are_passed_over(system: str) -> None:
    async def story() -> None:
        served = await start(system, read_text(SCENARIO), port=0)
        try:
            assert served.passed_over == ["1 of 7 events passed over (members are real clients here): c1 crashes"]
            assert await until_events(served, 6) == [
                "refunds is created",
                "b2 is killed",
                "b2 returns",
                "orders has 5 queues",
                "network of b1 is cut for 50ms",
                "refunds is deleted",
            ]
            assert served.world.failures == []
            assert served.world.is_running("b2")
            assert {topic: sum(queues.values()) for topic, queues in served.service.topics().items()} == {"orders": 5}
        finally:
            await served.world.close()

    asyncio.run(story())


IMPOSSIBLE = """
name: what cannot happen here
brokers: [b1, b2]
topics: {orders: 3}
group: {name: g, members: {c1: {subscribe: [orders]}}}
run: {for: 1min}
events:
  - {at: 10ms, network: loss, loss: 0.5, between: [b1], for: 50ms}
  - {at: 20ms, produce: {orders: 10}}
  - {at: 30ms, queues: {orders: 2}}
  - {at: 40ms, queues: {orders: 4}}
"""


def test_an_event_that_cannot_happen_is_said_and_not_recorded(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        served = await start("kafka", read_text(IMPOSSIBLE), port=0)
        try:
            assert served.passed_over == [
                "1 of 4 events passed over (a network can only be cut here): "
                "network of b1 loses 50% of messages for 50ms",
                "1 of 4 events passed over (not served): orders gets 10 records at once",
            ]
            assert await until_events(served, 1) == ["orders has 4 queues"]
        finally:
            await served.world.close()

    with caplog.at_level("WARNING", "equipoise.serving"):
        asyncio.run(story())
    assert caplog.messages == [
        "orders has 2 queues: did not happen: topic 'orders' has 3 partitions, expected more than that, not 2"
    ]


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    async def story() -> None:
        first = await start("kafka", port=0)
        port = first.bootstrap.rpartition(":")[2]
        try:
            with pytest.raises(UserError, match=f"--port {port}: .* expected a free port of 127.0.0.1"):
                await start("kafka", port=int(port))
        finally:
            await first.world.close()

    asyncio.run(story())
