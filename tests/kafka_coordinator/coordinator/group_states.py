"""A group in each state of the table of spec 2.3, and what is expected there."""

from collections.abc import Callable
from typing import Any

from kafka_coordinator.coordinator.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk

Cell = tuple[Any, str]
"""Answer (or error; None: parked) and the state afterwards."""


def leader_of(desk: Desk) -> str:
    assert desk.group.leader is not None
    return desk.group.leader


def follower_of(desk: Desk) -> str:
    return next(member for member in desk.group.members if member != desk.group.leader)


def in_empty() -> Desk:
    desk = Desk()
    desk.stable(1)
    desk.leave(leader_of(desk))
    return desk


def in_preparing() -> Desk:
    """Two members of generation 1 have not rejoined yet, a third is parked."""
    desk = Desk()
    desk.stable(2, instance=None)
    desk.new("c9")
    return desk


def in_completing() -> Desk:
    """Generation 1 of two members, nobody has synced."""
    desk = Desk()
    desk.new("c0")
    desk.new("c1")
    desk.advance(6000)
    return desk


def in_stable() -> Desk:
    desk = Desk()
    desk.stable(2)
    return desk


MAKE: dict[str, Callable[[], Desk]] = {
    EMPTY: in_empty,
    PREPARING_REBALANCE: in_preparing,
    COMPLETING_REBALANCE: in_completing,
    STABLE: in_stable,
}


def cells(empty: Cell, preparing: Cell, completing: Cell, stable: Cell) -> dict[str, Cell]:
    return {EMPTY: empty, PREPARING_REBALANCE: preparing, COMPLETING_REBALANCE: completing, STABLE: stable}


PARKED_AND_PREPARING: Cell = (None, PREPARING_REBALANCE)


NOT_A_MEMBER: Cell = ("UNKNOWN_MEMBER_ID", EMPTY)
