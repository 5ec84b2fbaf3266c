"""Kafka orders texts by UTF-16 unit: characters beyond U+FFFF come before those from U+E000 to U+FFFF."""

from compare.conformance.kafka_coordinator_shapes import group_state
from kafka_coordinator import assign
from kafka_coordinator.messages import OffsetCommit, OffsetFetch
from protocols import Group, Queue
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.rows import rows

BEYOND, BELOW = "\U0001f600", "\ufb00"
"""In the order of UTF-16 units, which is not that of code points."""


@rows("name", ["range", "roundrobin", "sticky", "cooperative-sticky", "server-range"])
def test_members_are_dealt_to_in_the_order_of_units(name: str) -> None:
    group = Group.of({"t": 3}, {BELOW: ["t"], BEYOND: ["t"]})
    assert {id: len(queues) for id, queues in assign(name, group).items()} == {BEYOND: 2, BELOW: 1}


@rows("name", ["range", "roundrobin", "server-range"])
def test_static_members_go_by_the_units_of_their_instance_ids(name: str) -> None:
    members = {"a": {"subscribe": ["t"], "instance_id": BELOW}, "b": {"subscribe": ["t"], "instance_id": BEYOND}}
    assert assign(name, Group.of({"t": 1}, members))["b"] == (Queue("t", "", 0),)


@rows("name", ["roundrobin", "sticky", "cooperative-sticky"])
def test_topics_are_dealt_in_the_order_of_units(name: str) -> None:
    group = Group.of({BELOW: 1, BEYOND: 1}, {"a": [BELOW, BEYOND], "b": [BELOW, BEYOND]})
    assert dict(assign(name, group)) == {"a": (Queue(BEYOND, "", 0),), "b": (Queue(BELOW, "", 0),)}


def test_the_coordinator_lists_groups_offsets_and_topics_so() -> None:
    desk = Desk()
    commits = tuple(((topic, 0), 1, "") for topic in (BELOW, BEYOND))
    for group in (BELOW, BEYOND):
        desk.send(OffsetCommit(desk.number(), group, "", -1, None, commits))
    fetched = desk.send(OffsetFetch(desk.number(), BELOW, None))
    assert [topic for (topic, _), _, _ in fetched.offsets] == [BEYOND, BELOW]
    assert [group for group, *_ in desk.listed()] == [BEYOND, BELOW]
    desk.stable(1)
    desk.group.subscribed = frozenset({BELOW, BEYOND, "t"})
    assert group_state(desk.group)["subscribed_topics"] == ["t", BEYOND, BELOW]
