"""Settings of the broker and of single groups, and server-side assignors of one's own."""

import pytest

from kafka_coordinator.assignors import uniform
from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata
from kafka_coordinator.coordinator import BrokerSettings
from kafka_coordinator.coordinator.settings import with_settings
from protocols.errors import UserError
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk
from tests.rows import rows


@rows(
    ("name", "value"),
    [
        ("group.consumer.session.timeout.ms", 44_999),
        ("group.consumer.session.timeout.ms", 60_001),
        ("group.consumer.heartbeat.interval.ms", 4999),
        ("group.consumer.heartbeat.interval.ms", 15_001),
        ("group.consumer.max.size", 0),
        ("group.consumer.assignors", "sticky"),
        ("group.consumer.assignors", "uniform,uniform"),
        ("group.consumer.assignors", 3),
        ("group.consumer.migration.policy", "sideways"),
        ("group.coordinator.rebalance.protocols", "streams"),
    ],
)
def test_what_a_broker_would_not_start_with_is_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=name):
        with_settings(BrokerSettings(), {name: value}, "test")


def test_the_interval_must_be_shorter_than_the_session() -> None:
    changes = {"group.consumer.min.session.timeout.ms": 5000, "group.consumer.session.timeout.ms": 5000}
    with pytest.raises(UserError, match=r"heartbeat\.interval\.ms is 5000, expected less"):
        with_settings(BrokerSettings(), changes, "test")


def first_takes_all(group: GroupMetadata, same_subscriptions: bool) -> Assignment:
    return Assignment([list(range(sum(group.topics.values()))), *([] for _ in group.members[1:])])


def gives_twice(group: GroupMetadata, same_subscriptions: bool) -> Assignment:
    return Assignment([[0, 0] for _ in group.members])


def gives_what_is_not_there(group: GroupMetadata, same_subscriptions: bool) -> Assignment:
    return Assignment([[99] for _ in group.members])


def throws(group: GroupMetadata, same_subscriptions: bool) -> Assignment:
    raise AssignorError("PartitionAssignorException", "no idea")


def test_an_assignor_of_one_s_own_computes_targets() -> None:
    uniform.register_server_assignor("own", first_takes_all)
    try:
        desk = ConsumerDesk({"group.consumer.assignors": "uniform, own"})
        desk.join("A", assignor="own")
        desk.join("B", assignor="own")
        desk.settle()
        assert sorted(map(len, desk.group.target.values())) == [0, 4]
        desk.beat("A", assignor="uniform")
        desk.beat("B", assignor="uniform")
        desk.join("C")
        desk.settle()
        assert sorted(map(len, desk.group.target.values())) == [1, 1, 2]
        with pytest.raises(ValueError, match="not taken"):
            uniform.register_server_assignor("own", first_takes_all)
    finally:
        del uniform.SERVER_ASSIGNORS["own"]


@pytest.mark.parametrize("assignor", [gives_twice, gives_what_is_not_there, throws])
def test_an_own_assignor_that_cannot_is_the_user_s_to_mend(
    assignor: uniform.ServerAssignor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(uniform.SERVER_ASSIGNORS, "own", assignor)
    desk = ConsumerDesk({"group.consumer.assignors": "own"})
    with pytest.raises(UserError, match="server-side assignor own for group g"):
        desk.join("A")
