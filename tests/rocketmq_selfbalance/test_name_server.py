"""What a name server knows of brokers and topics (spec 1.1 to 1.4)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols import Queue
from protocols.engine.nodes import OPERATOR
from protocols.engine.single import SingleNode
from rocketmq_selfbalance.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.nameserver import (
    AddWritePerm,
    DataVersion,
    DeleteTopicInNameServer,
    GetRouteInfo,
    RegisterBroker,
    Route,
    RouteInfoAnswer,
    TopicConfig,
    UnregisterBroker,
    WipeWritePerm,
    addresses_of,
    publish_queues,
    subscribe_queues,
)
from rocketmq_selfbalance.nameserver import NameServer


def registration(broker: str, *topics: TopicConfig, version: int = 1, id: int = 0) -> RegisterBroker:
    told = (TopicConfig("SELF", 1, 1), *topics)
    return RegisterBroker(0, "C", broker, id, f"{broker}/{id}", told, DataVersion(counter=version))


def name_server(*messages: tuple[float, str, Any]) -> SingleNode[NameServer]:
    """A name server that has got these messages: (seconds, sender, message)."""
    world = SingleNode(NameServer())
    world.start()
    for seconds, sender, message in messages:
        world.receive(seconds * 1000, sender, message)
    return world


def no_route(world: SingleNode[NameServer]) -> bool:
    return answered(world) is None


def route(world: SingleNode[NameServer]) -> Route:
    found = answered(world)
    assert found is not None
    return found


def answered(world: SingleNode[NameServer], topic: str = "T", at_s: float | None = None) -> Route | None:
    world.receive(world.now if at_s is None else at_s * 1000, "client", GetRouteInfo(7, topic))
    answer = world.take_sent()[-1].message
    assert isinstance(answer, RouteInfoAnswer)
    assert answer.correlation == 7
    assert answer.code == (TOPIC_NOT_EXIST if answer.route is None else SUCCESS)
    return answer.route


def brokers(found: Route | None) -> list[str]:
    return [] if found is None else [data.broker for data in found.queues]


def test_consumers_share_the_read_queues_and_producers_write_to_the_write_queues() -> None:
    world = name_server(
        (0, "a", registration("a", TopicConfig("T", 4, 2))), (0, "b", registration("b", TopicConfig("T", 1, 3)))
    )
    found = route(world)
    assert subscribe_queues("T", found) == tuple(
        Queue("T", broker, number) for broker, count in (("a", 4), ("b", 1)) for number in range(count)
    )
    assert publish_queues("T", found) == tuple(
        Queue("T", broker, number) for broker, count in (("a", 2), ("b", 3)) for number in range(count)
    )
    assert addresses_of(found) == {"a": {0: "a/0"}, "b": {0: "b/0"}}


def test_a_registration_each_30_s_keeps_a_broker_for_ever() -> None:
    same = registration("a", TopicConfig("T", 4, 4))
    world = name_server(*((each * 30, "a", same) for each in range(20)))
    assert brokers(answered(world, at_s=600)) == ["a"]


def test_without_write_permission_producers_see_nothing_and_consumers_the_same() -> None:
    world = name_server((0, "a", registration("a", TopicConfig("T", 2, 2))))
    before = route(world)
    world.receive(1000, OPERATOR, WipeWritePerm(0, "a"))
    after = route(world)
    assert publish_queues("T", after) == ()
    assert subscribe_queues("T", after) == subscribe_queues("T", before)


def test_adding_write_permission_makes_a_topic_readable_too() -> None:
    world = name_server((0, "a", registration("a", TopicConfig("T", 2, 2, perm=0))))
    world.receive(1000, OPERATOR, AddWritePerm(0, "a"))
    assert route(world).queues[0].perm == 6


def test_queues_of_a_lost_master_stay_while_a_replica_is_there() -> None:
    world = name_server(
        (0, "a", registration("a", TopicConfig("T", 2, 2))), (0, "a1", registration("a", TopicConfig("T", 2, 2), id=1))
    )
    before = route(world)
    world.receive(1000, "a", UnregisterBroker(0, "C", "a", 0, "a/0"))
    after = route(world)
    assert subscribe_queues("T", after) == subscribe_queues("T", before)
    assert publish_queues("T", after) == ()


def test_a_deleted_topic_is_gone_for_everybody() -> None:
    world = name_server((0, "a", registration("a", TopicConfig("T", 2, 2))))
    world.receive(1000, OPERATOR, DeleteTopicInNameServer(0, "T"))
    assert no_route(world)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 40)), max_size=25))
def test_routes_name_only_brokers_that_have_registered_and_not_left(steps: list[tuple[str, int, int]]) -> None:
    """Whatever brokers do, and whatever was asked in between: an answer is that of the tables as they are now."""
    world = name_server()
    present: dict[str, float] = {}
    for version, (broker, what, seconds) in enumerate(steps):
        now = world.now + seconds * 1000
        world.advance(now)
        scanned = (now - 5) // 5000 * 5000 + 5
        present = {each: last for each, last in present.items() if last + 120_000 >= scanned}
        match what:
            case 0 | 1 | 2:
                world.receive(now, broker, registration(broker, TopicConfig("T", 1, 1), version=version))
                present[broker] = now
            case 3:
                world.receive(now, broker, UnregisterBroker(0, "C", broker, 0, f"{broker}/0"))
                present.pop(broker, None)
            case 4:
                world.closed(now, broker)
                present.pop(broker, None)
        assert brokers(answered(world)) == sorted(present)


def test_brokers_of_a_route_are_in_the_order_of_utf16_units() -> None:
    beyond, below = "\U0001f600", "\ufb00"
    topic = TopicConfig("T", 1, 1)
    world = name_server(*((0, name, registration(name, topic)) for name in (below, beyond)))
    assert [queues.broker for queues in route(world).queues] == [beyond, below]
    assert [data.broker for data in route(world).brokers] == [beyond, below]
