"""A consumer's state: one small record for each concern, each with its own copy and its part of the key."""

from dataclasses import fields
from typing import Any

import pytest

from kafka_coordinator.consumer import ConsumerConfig, ConsumerSettings, Load
from kafka_coordinator.consumer.state import (
    AssignorMemory,
    ConsumerState,
    InFlightRequest,
    ListenerCall,
    UserCommit,
)
from kafka_coordinator.consumer.state.consumer_protocol import (
    ConsumerProtocolMember,
    LocalAssignment,
    Reconciliation,
    SentFields,
)
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer, JoinGroupAnswer
from protocols.load import Reading
from protocols.poison import PoisonRecord, StuckOn

NOW = 1_000.0
MOST_FIELDS = 15

OF_THE_CONFIG = {"cooperative"}
"""Follows from the configuration, which is in the key."""

OTHER: dict[str, Any] = {
    "in_flight": {7: InFlightRequest("b1", Heartbeat, 40_000.0, (1, "c1-0"))},
    "check_at": 40_000.0,
    "topics": ("t", "u"),
    "replica_racks": {"t": (("r1",),)},
    "requested_topics": ("t",),
    "coordinator": "b1",
    "protocol": "range",
    "answer_to_leader": JoinGroupAnswer(1, "NONE", 1, "c1-0", "c1-0", "consumer", "range", False, ()),
    "joined_subscription": ("t",),
    "snapshot": (("t", 4, ()),),
    "group_topics": ("t",),
    "memories": {"sticky": AssignorMemory()},
    "owned": (("t", 0),),
    "assigned_by_user": (("t", 0),),
    "beside": (("t", 0),),
    "positions": {("t", 0): Reading(3, 500.0, 0.0)},
    "unpositioned": (("t", 0),),
    "stored": (("t", 0), 3),
    "by_user": UserCommit(None, None, 60_000.0),
    "listener_call": ListenerCall("assigned", (("t", 0),), ""),
    "stuck": StuckOn(("t", 0), PoisonRecord(3, 5, 1_000.0), 40_000.0),
    "deferred": [(HeartbeatAnswer(7, "NONE"), (1, "c1-0"))],
    "resume_at": 2_000.0,
    "load": Load(1.0),
    "config": ConsumerConfig("c1", "g", ("b1",), ("t",), settings=ConsumerSettings(session_timeout_ms=6_000)),
    "brokers": ("b1", "b2"),
    "pending_revocation": frozenset({("t", 0)}),
    "kip848": ConsumerProtocolMember(wants_to_join=True),
    "target": LocalAssignment(0, (("t", 0),)),
    "current": LocalAssignment(0, (("t", 0),)),
    "reconciliation": Reconciliation("commit", LocalAssignment(0, ()), (("t", 0),), (), 60_000.0),
    "sent": SentFields(topics=("t",)),
}
"""Another value than at the start, where it is not simply the other flag, a larger number or a text."""


def fresh(protocol: str = "classic") -> ConsumerState:
    return ConsumerState.of(ConsumerConfig("c1", "g", ("b1",), ("t",), settings=ConsumerSettings(protocol)))


def records(state: ConsumerState) -> dict[str, Any]:
    """The state itself and its records, by name."""
    parts = {each.name: getattr(state, each.name) for each in fields(state)}
    return {"": state, **{name: part for name, part in parts.items() if hasattr(part, "copy")}}


PLACES = [
    (name, each.name)
    for name, record in records(fresh("consumer")).items()
    for each in fields(record)
    if name or each.name not in records(fresh("consumer"))
]


def changed(name: str, value: Any) -> Any:
    if name in OTHER:
        return {"t": ("b1",)} if name == "topics" and isinstance(value, dict) else OTHER[name]
    if isinstance(value, bool):
        return not value
    return "x" if isinstance(value, str) else value + 1


def test_no_record_has_more_fields_than_can_be_kept_in_mind() -> None:
    sizes = {name: len(fields(record)) for name, record in records(fresh("consumer")).items()}
    assert len(sizes) > 10
    assert all(size <= MOST_FIELDS for size in sizes.values()), sizes


@pytest.mark.parametrize(("record", "field"), PLACES)
def test_every_field_is_a_part_of_the_key(record: str, field: str) -> None:
    state = fresh("consumer")
    if field == "correlation":  # counts only as the distance to the requests that are on their way
        state.requests.in_flight = OTHER["in_flight"].copy()
    before = state.key(NOW)
    part = records(state)[record]
    setattr(part, field, changed(field, getattr(part, field)))
    assert (state.key(NOW) == before) == (field in OF_THE_CONFIG)


@pytest.mark.parametrize(("record", "field"), PLACES)
def test_a_copy_shares_nothing_that_changes(record: str, field: str) -> None:
    state = fresh("consumer")
    part = records(state)[record]
    setattr(part, field, changed(field, getattr(part, field)))
    before = state.key(NOW)
    copied = state.copy()
    assert copied.key(NOW) == before
    of_copy = records(copied)[record]
    value = getattr(of_copy, field)
    if isinstance(value, dict | list) and field not in ("topics", "replica_racks"):  # those two are replaced as a whole
        assert value is not getattr(part, field)
        value.clear()
    else:
        setattr(of_copy, field, None)
    assert state.key(NOW) == before
