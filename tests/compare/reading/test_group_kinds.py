"""Whose group it is, and that advice never asks for what such a group cannot or must not do."""

from dataclasses import replace
from typing import Any

import pytest

from compare.auditing.group_figures import UNREAD, WAITING, judge
from compare.explaining.diagnosis import explain_all
from compare.explaining.missing_figures import headline
from compare.reading.group_kinds import CLASSIC, SERVER, kind_of
from compare.reading.observed import ObservedGroup, ObservedMember
from kafka_coordinator import assign
from protocols import Group, Queue
from tests.compare.observed_groups import findings


def kafka(
    name: str = "g",
    clients: tuple[str, ...] = ("consumer-g-1", "consumer-g-2"),
    strategy: str | None = "range",
    **fields: Any,
) -> ObservedGroup:
    """Two topics of three partitions as range deals them over the clients: the first one has most."""
    ids = [f"{client}-{at}" for at, client in enumerate(clients)]
    group = Group.of({"a": 3, "b": 3}, {id: ["a", "b"] for id in ids})
    owned = assign("range", group)
    members = tuple(ObservedMember(id, owned[id], client_id=client) for id, client in zip(ids, clients, strict=True))
    return ObservedGroup(
        "kafka", name, "shared", fields.pop("state", "Stable"), strategy, members, group.queues, **fields
    )


KINDS = {
    "plain": kafka(),
    "consumer-protocol": kafka(strategy="server-range", consumer_protocol=True),
    "streams": kafka(clients=("app-StreamThread-1-consumer", "app-StreamThread-2-consumer"), strategy=None),
    "ksqldb": kafka("_confluent-ksql-default_query_CTAS_1", ("x-StreamThread-1-consumer", "x-StreamThread-2-consumer")),
    "connect": kafka("connect-sink", ("connector-consumer-sink-0", "connector-consumer-sink-1")),
    "mirrormaker": kafka("mirrormaker-dc1", ("mm-1", "mm-2")),
    "unknown": kafka(strategy="RoundRobinAssigner"),
}
FORBIDDEN = {
    "consumer-protocol": ("partition.assignment.strategy", "CooperativeSticky"),
    "streams": ("assignment.strategy", "Assignor", "--alter", "--partitions"),
    "ksqldb": ("assignment.strategy", "Assignor", "--alter", "--partitions"),
    "connect": ("Set partition.assignment.strategy", "group.remote.assignor"),
    "unknown": ("assignment.strategy", "Assignor", "group.remote.assignor"),
}


def advice(group: ObservedGroup) -> str:
    return "\n".join(
        text
        for finding in findings(group).values()
        for remedy in finding.remedies
        for text in (remedy.text, *remedy.commands)
    )


def test_a_kind_is_recognised_and_gets_no_advice_that_is_not_for_it(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            group = KINDS[kind]
            assert kind_of(group) == kind
            said = advice(group)
            assert not [each for each in FORBIDDEN.get(kind, ()) if each in said]


def test_each_kind_is_advised_in_the_settings_of_those_who_run_it() -> None:
    assert "group.remote.assignor=uniform" in advice(KINDS["consumer-protocol"])
    assert "consumer.override.partition.assignment.strategy" in advice(KINDS["connect"])
    assert "--consumer.config" in advice(KINDS["mirrormaker"])
    assert "as their client ids hint: set partition.assignment.strategy" in advice(KINDS["plain"])
    assert findings(KINDS["streams"])["tasks-are-placed"].remedies == ()


def test_an_assignor_that_is_not_told_is_asked_for() -> None:
    said = advice(kafka(strategy=None))
    assert "--state" in said
    assert "Assignor" not in said


def test_a_group_that_is_on_the_move_is_not_told_to_restart(subtests: pytest.Subtests) -> None:
    for state in ["Reconciling", "PreparingRebalance", "CompletingRebalance", "rebalancing"]:
        with subtests.test(state=state):
            found = findings(kafka(state=state))
            assert "rebalancing" in found
            assert all(remedy.restart == "none" for finding in found.values() for remedy in finding.remedies)


def test_records_of_a_group_that_only_stores_offsets_are_not_said_to_be_nobodys() -> None:
    queue = Queue("t", "", 0)
    fields: dict[str, Any] = {"lag": {queue: 999}, "consumer_protocol": False}
    assign = ObservedGroup("kafka", "g", "shared", "Empty", None, (), (queue,), only_offsets=True, **fields)
    (simple,), (empty,) = judge([assign]), judge([replace(assign, only_offsets=False)])
    assert (empty.cost, simple.cost) == (UNREAD * 3, WAITING * 3)
    assert headline([empty]) == "The group has no member, and 999 records wait there."
    assert headline([simple]) == (
        "The group only stores offsets for consumers that call assign(). 999 records wait in it."
    )
    assert headline([empty, simple]) == (
        "1 of 2 groups has no member, and 999 records wait there. 1 of 2 groups only stores offsets for consumers that"
        " call assign(). 999 more records wait in 1 of 2 groups."
    )


def test_the_best_strategy_is_one_that_the_group_can_be_set_to() -> None:
    usable = {"plain": CLASSIC, "consumer-protocol": SERVER, "streams": (), "connect": CLASSIC, "unknown": ()}
    for kind, names in usable.items():
        (explained,) = explain_all(judge([KINDS[kind]]))
        assert {row.strategy for row in explained.what_if if row.reachable} == set(names), kind
        assert {row.system for row in explained.what_if if not row.reachable} >= {"rocketmq"}
