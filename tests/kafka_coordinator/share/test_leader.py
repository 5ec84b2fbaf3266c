"""The leader of share-partitions (spec share 5): sessions, fetches that wait, locks, what a closed connection does."""

import pytest

from kafka_coordinator.share.messages import ShareAcknowledge
from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.share.leader_node import Leader, P, Q, Write

ACCEPT, RELEASE, REJECT, RENEW = ("ACCEPT",), ("RELEASE",), ("REJECT",), ("RENEW",)


@pytest.mark.parametrize(
    ("epochs", "error"),
    [
        ((1,), "SHARE_SESSION_NOT_FOUND"),
        ((-1,), "SHARE_SESSION_NOT_FOUND"),
        ((0, 2), "INVALID_SHARE_SESSION_EPOCH"),
        ((0, 1, 1), "INVALID_SHARE_SESSION_EPOCH"),
        ((0, 1, 0, 2), "INVALID_SHARE_SESSION_EPOCH"),
    ],
)
def test_requests_of_a_session_come_in_order(epochs: tuple[int, ...], error: str) -> None:
    leader = Leader()
    for epoch in epochs:
        leader.answers()
        leader.fetch("a", epoch, 0, added=(P,), max_wait_ms=0)
    assert leader.answers() == [("a", error)]


def test_first_request_acknowledges_nothing() -> None:
    leader = Leader()
    leader.fetch("a", 0, 0, added=(P,), acknowledged=((P, ((0, 0, ACCEPT),)),))
    leader.receive(0, "a", ShareAcknowledge(1, "g", "a", 0))
    assert leader.answers() == [("a", "INVALID_REQUEST"), ("a", "INVALID_SHARE_SESSION_EPOCH")]


def test_who_came_first_gets_the_next_record_and_nobody_waits_longer_than_it_asked() -> None:
    leader = Leader()
    leader.fetch("a", 0, 0, added=(P,))
    leader.fetch("b", 0, 10, added=(P, Q))
    leader.receive(100, "producer", Write((P, 1)))
    assert leader.answers() == [("a", {P: ((0, 0, 1),)})]
    leader.receive(200, "producer", Write((P, 1)))
    assert leader.answers() == [("b", {P: ((1, 1, 1),), Q: ()})]
    leader.fetch("b", 1, 300)
    leader.advance(799)
    assert leader.answers() == []
    leader.advance(800)
    assert leader.answers() == [("b", {})]


def test_partitions_take_turns_in_being_first() -> None:
    leader = Leader(records=10)
    leader.fetch("a", 0, 0, added=(P, Q), max_records=4)
    leader.fetch("b", 0, 0, added=(P, Q), max_records=1)
    leader.fetch("b", 1, 0, max_records=1)
    assert leader.answers() == [
        ("a", {P: ((0, 3, 1),), Q: ()}),
        ("b", {P: ((4, 4, 1),), Q: ()}),
        ("b", {Q: ((0, 0, 1),)}),
    ]


def test_lock_runs_out_and_counts_the_delivery() -> None:
    leader = Leader(records=2)
    leader.fetch("a", 0, 0, added=(P,))
    leader.fetch("b", 0, 5, added=(P,), max_wait_ms=60_000)
    leader.advance(29_999)
    assert leader.told() == ["a 0-1 try 1 until 30000"]
    leader.advance(30_000)
    assert leader.told() == ["a 0-1 lock timeout", "b 0-1 try 2 until 60000"]
    leader.fetch("a", 1, 30_001, acknowledged=((P, ((0, 1, ACCEPT),)),), max_wait_ms=0)
    assert "INVALID_RECORD_STATE" in str(leader.take_sent()[-1])


@pytest.mark.parametrize("ends", ["connection closed", "final fetch", "final acknowledgement"])
def test_end_of_a_session_gives_records_back_at_once(ends: str) -> None:
    leader = Leader(records=3)
    leader.fetch("a", 0, 0, added=(P,))
    leader.fetch("b", 0, 10, added=(P,), max_wait_ms=60_000)
    handled = ((P, ((0, 0, ACCEPT),)),)
    if ends == "connection closed":
        leader.fetch("a", 1, 1_000, acknowledged=handled, max_wait_ms=0)
        leader.closed(1_000, "a")
    elif ends == "final fetch":
        leader.fetch("a", -1, 1_000, acknowledged=handled)
    else:
        leader.receive(1_000, "a", ShareAcknowledge(9, "g", "a", -1, handled))
    assert leader.told()[1:] == ["a 0-0 acknowledged", "a 1-2 session closed", "b 1-2 try 2 until 31000"]
    leader.fetch("a", 2, 1_001)
    assert leader.answers()[-1] == ("a", "SHARE_SESSION_NOT_FOUND")


def test_fetch_of_a_killed_client_locks_records_that_nobody_reads() -> None:
    leader = Leader()
    leader.fetch("a", 0, 0, added=(P,))
    leader.fetch("b", 0, 0, added=(P,))
    leader.closed(100, "a")
    leader.receive(200, "producer", Write((P, 1)))
    assert leader.told() == ["a 0-0 try 1 until 30200"]
    assert leader.answers() == []


BURIES, TWICE = {"errors.deadletterqueue.topic.name": "dlq.t"}, {"share.delivery.count.limit": 2}


@pytest.mark.parametrize(
    ("version", "kind", "own", "told"),
    [
        ("4.4", RELEASE, {}, ["a 0-0 released", "a 0-0 try 2 until 30000"]),
        ("4.4", REJECT, {}, ["a 0-0 archived"]),
        ("4.4", REJECT, BURIES, ["a 0-0 dead letter"]),
        ("4.3", REJECT, BURIES, ["a 0-0 archived"]),
        ("4.4", RELEASE, TWICE, ["a 0-0 released", "a 0-0 try 2 until 30000", "a 0-0 archived"]),
        ("4.4", RELEASE, {**TWICE, **BURIES}, ["a 0-0 released", "a 0-0 try 2 until 30000", "a 0-0 dead letter"]),
    ],
)
def test_acknowledgement_says_what_becomes_of_a_record(
    version: str, kind: tuple[str], own: dict[str, object], told: list[str]
) -> None:
    leader = Leader(records=1, **own)
    leader.node.leader.version = VERSIONS[version]
    leader.fetch("a", 0, 0, added=(P,), max_wait_ms=0)
    for epoch in range(1, 3 if own.get("share.delivery.count.limit") else 2):
        leader.fetch("a", epoch, 0, acknowledged=((P, ((0, 0, kind),)),), max_wait_ms=0)
    assert leader.told()[1:] == told
    assert len(leader.node.logs.buried) == (told[-1] == "a 0-0 dead letter")


def test_renewing_needs_a_request_that_fetches_nothing() -> None:
    leader = Leader(records=1)
    leader.fetch("a", 0, 0, added=(P,))
    renewing = {"acknowledged": ((P, ((0, 0, RENEW),)),), "renews": True}
    leader.fetch("a", 1, 20_000, **renewing)
    leader.fetch("a", 1, 20_000, **renewing, max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0)
    assert leader.answers()[1:] == [("a", "INVALID_REQUEST"), ("a", {P: ()})]
    leader.told()
    leader.advance(49_999)
    assert leader.told() == []
    leader.advance(50_000)
    assert leader.told() == ["a 0-0 lock timeout"]


def test_what_was_acknowledged_outlives_the_leader_and_deliveries_do_not() -> None:
    leader = Leader(records=3)
    leader.fetch("a", 0, 0, added=(P,), max_wait_ms=0)
    leader.fetch("a", 1, 0, acknowledged=((P, ((1, 1, ACCEPT),)),), max_wait_ms=0)
    after = Leader(records=3)
    after.node.leader.states = leader.states
    after.fetch("b", 0, 0, added=(P,), max_wait_ms=0)
    assert after.answers() == [("b", {P: ((0, 0, 1), (2, 2, 1))})]


def test_partition_that_is_led_elsewhere() -> None:
    leader = Leader(records=1)
    leader.fetch("a", 0, 0, added=(("u", 0),))
    assert "NOT_LEADER_OR_FOLLOWER" in str(leader.take_sent())
