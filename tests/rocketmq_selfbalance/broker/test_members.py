"""Who is in a group, as one broker sees it, and whom it tells (spec 2.1 to 2.6)."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.nodes import OPERATOR
from rocketmq_selfbalance.broker import BrokerSettings
from rocketmq_selfbalance.codes import (
    BROADCASTING,
    CLUSTERING,
    CONSUME_FROM_LAST_OFFSET,
    CONSUME_PASSIVELY,
    SYSTEM_ERROR,
)
from rocketmq_selfbalance.messages.membership import (
    ConsumerData,
    GetConsumerListByGroup,
    HeartBeat,
    Subscription,
    SubscriptionGroup,
    UpdateSubscriptionGroup,
)
from rocketmq_selfbalance.messages.nameserver import RegisterBroker
from tests.rocketmq_selfbalance.broker.one_broker import OneBroker


def test_the_scan_removes_who_is_silent_for_more_than_120_s_and_tells_nobody() -> None:
    broker = OneBroker()
    broker.heartbeat(0, "c1")
    for at in range(5, 140, 5):
        broker.heartbeat(at, "c2")
        broker.ask(at, "c1", GetConsumerListByGroup(9, "g"))  # its connection is busy, but no heartbeat comes
        broker.world.take_sent()
    assert broker.members(139) == ["c2"]
    assert broker.notified() == []
    assert [each.peer for each in broker.world.closes] == ["c1"]


def test_a_connection_without_any_traffic_is_closed_after_120_s_and_the_others_are_told() -> None:
    broker = OneBroker()
    broker.heartbeat(0, "c1")
    for at in (30, 60, 90, 119):
        broker.heartbeat(at, "c2")
    broker.world.advance(119_999)
    broker.world.take_sent()
    broker.world.advance(121_000)
    # c1 was written to when c2 came.
    assert broker.members(121) == ["c1", "c2"]
    broker.world.advance(150_000)
    assert broker.members(150) == ["c2"]


def test_broadcasting_groups_are_not_told() -> None:
    broker = OneBroker()
    assert broker.heartbeat(0, "c1", message_model=BROADCASTING) == []
    assert broker.heartbeat(0, "c2", message_model=BROADCASTING) == []
    assert broker.close(1, "c1") == []


def test_broadcasting_groups_were_told_in_4_x() -> None:
    broker = OneBroker(settings=BrokerSettings(notify_broadcasting=True))
    assert broker.heartbeat(0, "c1", message_model=BROADCASTING) == ["c1"]


def test_a_group_may_be_spared_notifications_but_not_of_lost_connections() -> None:
    broker = OneBroker()
    spared = SubscriptionGroup("g", notify_consumer_ids_changed_enable=False)
    broker.ask(0, OPERATOR, UpdateSubscriptionGroup(0, spared))
    assert broker.heartbeat(0, "c1") == []
    assert broker.heartbeat(0, "c2") == []
    assert broker.close(1, "c2") == ["c1"]


def test_a_broker_may_be_silent() -> None:
    broker = OneBroker(settings=BrokerSettings(notify_consumer_ids_changed_enable=False))
    assert broker.heartbeat(0, "c1") == []
    assert broker.close(1, "c1") == []


def test_collected_notifications_come_each_15_s_once_per_group() -> None:
    broker = OneBroker(settings=BrokerSettings(real_time_notify_consumer_change=False))
    assert broker.heartbeat(1, "c1") == []
    assert broker.heartbeat(2, "c2") == []
    broker.world.advance(30_000)
    assert broker.notified() == ["c1", "c2"]
    broker.world.advance(45_000)
    assert broker.notified() == []


def test_the_first_heartbeat_of_a_group_makes_its_retry_topic_which_is_registered_at_once() -> None:
    broker = OneBroker()
    data = ConsumerData("g", CONSUME_PASSIVELY, CLUSTERING, CONSUME_FROM_LAST_OFFSET, (Subscription("T", "*", 1),))
    broker.ask(0, "c1", HeartBeat(1, "c1", (data,)))
    [registered] = [sent.message for sent in broker.world.take_sent() if isinstance(sent.message, RegisterBroker)]
    assert [(config.topic, config.read, config.perm) for config in registered.topics] == [("%RETRY%g", 1, 6)]


def test_a_group_that_may_not_be_made_is_skipped_silently() -> None:
    broker = OneBroker(settings=BrokerSettings(auto_create_subscription_group=False))
    broker.disk.groups.auto_create = False
    assert broker.heartbeat(0, "c1") == []
    assert broker.ask(1, "c1", GetConsumerListByGroup(9, "g")).code == SYSTEM_ERROR


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["c1", "c2", "c3"]),
            st.sampled_from(["beat", "leave", "close"]),
            st.sampled_from(["g", "h"]),
        ),
        max_size=30,
    )
)
def test_a_broker_lists_exactly_who_has_come_and_not_gone(steps: list[tuple[str, str, str]]) -> None:
    broker = OneBroker()
    inside: dict[str, set[str]] = {"g": set(), "h": set()}
    for number, (client, what, group) in enumerate(steps):
        before = {each: set(members) for each, members in inside.items()}
        match what:
            case "beat":
                told = broker.heartbeat(number, client, group=group)
                inside[group].add(client)
                assert set(told) == (inside[group] if before[group] != inside[group] else set())
            case "leave":
                told = broker.leave(number, client, group)
                inside[group].discard(client)
                assert set(told) == (inside[group] if before[group] else set())
            case "close":
                broker.close(number, client)
                for members in inside.values():
                    members.discard(client)
        for each, members in inside.items():
            assert broker.members(number, each) == sorted(members)
