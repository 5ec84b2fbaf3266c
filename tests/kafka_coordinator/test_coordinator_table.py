"""Spec 2.3, cell by cell: what an event does to a group in each state, and what is answered."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_coordinator.coordinator import OffsetsLeaders
from kafka_coordinator.coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from tests.kafka_coordinator.coordinator_desk import Desk

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


@pytest.fixture(params=MAKE)
def desk(request: pytest.FixtureRequest) -> Desk:
    made = MAKE[request.param]()
    assert made.state == request.param
    return made


def cells(empty: Cell, preparing: Cell, completing: Cell, stable: Cell) -> dict[str, Cell]:
    return {EMPTY: empty, PREPARING_REBALANCE: preparing, COMPLETING_REBALANCE: completing, STABLE: stable}


PARKED_AND_PREPARING: Cell = (None, PREPARING_REBALANCE)
NOT_A_MEMBER: Cell = ("UNKNOWN_MEMBER_ID", EMPTY)


def test_a_join_without_id_is_given_one_and_changes_nothing(desk: Desk) -> None:
    before, generation, pending = desk.state, desk.group.generation, len(desk.group.pending_join)
    answer = desk.join(name="new")
    assert (answer.error, answer.generation) == ("MEMBER_ID_REQUIRED", -1)
    assert answer.member_id.startswith("new-")
    assert (desk.state, desk.group.generation, len(desk.group.pending_join)) == (before, generation, pending + 1)


def test_an_old_client_s_join_without_id_makes_it_a_member(desk: Desk) -> None:
    members = len(desk.group.members)
    assert desk.join(name="new", version=3) is None
    assert (desk.state, len(desk.group.members)) == (PREPARING_REBALANCE, members + 1)


def test_a_join_with_a_pending_id_makes_it_a_member(desk: Desk) -> None:
    members = len(desk.group.members)
    desk.new("new")
    assert (desk.state, len(desk.group.members), desk.group.pending_join) == (PREPARING_REBALANCE, members + 1, {})


def test_a_new_static_member_is_taken_in_without_a_second_request(desk: Desk) -> None:
    assert desk.join(name="new", instance="i") is None
    assert desk.state == PREPARING_REBALANCE
    assert desk.group.static_members["i"].startswith("i-")


def test_a_pending_id_with_an_instance_id_is_what_kafka_throws_at(desk: Desk) -> None:
    before, member_id = desk.state, desk.join().member_id
    assert desk.join(member_id, instance="i").error == "UNKNOWN_SERVER_ERROR"
    assert desk.state == before
    assert member_id in desk.group.pending_join


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(NOT_A_MEMBER, PARKED_AND_PREPARING, ("NONE", COMPLETING_REBALANCE), ("NONE", STABLE)).items(),
)
def test_an_unchanged_follower_s_join_starts_nothing(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    member_id = "unknown" if state == EMPTY else follower_of(desk)
    answer = desk.join(member_id)
    assert (answer and answer.error, desk.state) == expected
    if expected[0] == "NONE":
        assert (answer.generation, answer.members, answer.leader) == (1, (), leader_of(desk))


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(NOT_A_MEMBER, PARKED_AND_PREPARING, ("NONE", COMPLETING_REBALANCE), PARKED_AND_PREPARING).items(),
)
def test_an_unchanged_leader_s_join_starts_a_rebalance_in_stable_only(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    answer = desk.join("unknown" if state == EMPTY else leader_of(desk))
    assert (answer and answer.error, desk.state) == expected
    if state == COMPLETING_REBALANCE:
        assert len(answer.members) == 2


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(NOT_A_MEMBER, PARKED_AND_PREPARING, PARKED_AND_PREPARING, PARKED_AND_PREPARING).items(),
)
def test_a_member_that_changed_starts_a_rebalance(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    answer = desk.join("unknown" if state == EMPTY else follower_of(desk), topics=("t", "u"))
    assert (answer and answer.error, desk.state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(
        NOT_A_MEMBER,
        ("REBALANCE_IN_PROGRESS", PREPARING_REBALANCE),
        (None, COMPLETING_REBALANCE),
        ("NONE", STABLE),
    ).items(),
)
def test_sync_of_a_follower(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    answer = desk.sync("unknown" if state == EMPTY else follower_of(desk))
    assert (answer and answer.error, desk.state) == expected
    if state == STABLE:
        assert answer.assignment == (("t", 1),)


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(NOT_A_MEMBER, ("REBALANCE_IN_PROGRESS", PREPARING_REBALANCE), ("NONE", STABLE), ("NONE", STABLE)).items(),
)
def test_sync_of_the_leader(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    leader = "unknown" if state == EMPTY else leader_of(desk)
    answer = desk.sync(leader, assignments={leader: "its own"})
    assert (answer.error, desk.state) == expected
    if state == COMPLETING_REBALANCE:
        assert answer.assignment == "its own"
        assert desk.group.members[follower_of(desk)].assignment == b"", "who is left out gets nothing"
    if state == STABLE:
        assert answer.assignment == (("t", 0),), "its list is ignored"


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(
        NOT_A_MEMBER,
        ("REBALANCE_IN_PROGRESS", PREPARING_REBALANCE),
        ("NONE", COMPLETING_REBALANCE),
        ("NONE", STABLE),
    ).items(),
)
def test_heartbeat_starts_the_session_anew(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    desk.advance(1000)
    member_id = "unknown" if state == EMPTY else follower_of(desk)
    assert (desk.heartbeat(member_id), desk.state) == expected
    if state != EMPTY:
        assert desk.world.timers["session", "g", member_id].due == desk.now + 45_000


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(
        (["UNKNOWN_MEMBER_ID"], EMPTY),
        (["NONE"], PREPARING_REBALANCE),
        (["NONE"], PREPARING_REBALANCE),
        (["NONE"], PREPARING_REBALANCE),
    ).items(),
)
def test_leave(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    member_id = "unknown" if state == EMPTY else follower_of(desk)
    assert (desk.leave(member_id), desk.state) == expected
    assert member_id not in desk.group.members


def test_whoever_leaves_last_of_all_completes_the_join(desk: Desk) -> None:
    if desk.state == EMPTY:
        return
    desk.leave(*[member for member in desk.group.members if desk.group.members[member].join is None])
    expected = COMPLETING_REBALANCE if desk.group.members else EMPTY
    assert desk.state == expected
    assert desk.group.generation == 2


def test_leave_of_a_pending_id_is_as_a_leave(desk: Desk) -> None:
    before, members, generation = desk.state, len(desk.group.members), desk.group.generation
    member_id = desk.join().member_id
    assert desk.leave(member_id) == ["NONE"]
    # Where nobody is, nobody has to join anew.
    after = EMPTY if before == EMPTY else PREPARING_REBALANCE
    assert (desk.state, len(desk.group.members), desk.group.pending_join) == (after, members, {})
    desk.advance(10_000)
    assert desk.group.generation == generation or before != EMPTY


@pytest.mark.parametrize(
    ("state", "after"),
    [(PREPARING_REBALANCE, PREPARING_REBALANCE), (COMPLETING_REBALANCE, PREPARING_REBALANCE), (STABLE, "")],
)
def test_the_session_timer_removes_a_silent_member(state: str, after: str) -> None:
    desk = MAKE[state]()
    silent, other = follower_of(desk), leader_of(desk)
    for _ in range(5):
        desk.advance(9999)
        desk.heartbeat(other)
    assert silent not in desk.group.members
    assert desk.state == (after or PREPARING_REBALANCE)


def test_the_session_timer_spares_whoever_waits_for_an_answer() -> None:
    desk = in_completing()
    waiting = follower_of(desk)
    assert desk.sync(waiting) is None
    for _ in range(5):
        desk.advance(10_000)
        desk.heartbeat(leader_of(desk))
    assert waiting in desk.group.members


def test_the_timer_of_a_pending_id_only_forgets_it(desk: Desk) -> None:
    before = desk.state
    desk.join(session=6000)
    pending = len(desk.group.pending_join)
    desk.advance(6000)
    assert (desk.state, len(desk.group.pending_join)) == (before, pending - 1)


def test_the_join_timer_goes_on_with_those_who_joined() -> None:
    desk = in_preparing()
    while desk.state == PREPARING_REBALANCE:
        desk.advance(9000)
        for member_id in list(desk.group.members):
            desk.heartbeat(member_id)
    assert desk.now >= 300_000
    assert (desk.state, desk.group.generation, len(desk.group.members)) == (COMPLETING_REBALANCE, 2, 1)


@pytest.mark.parametrize("state", [COMPLETING_REBALANCE, STABLE])
def test_the_sync_timer_removes_whoever_has_not_synced(state: str) -> None:
    desk = Desk()
    first, _ = desk.new("c0", rebalance=20_000, session=60_000)
    second, _ = desk.new("c1", rebalance=20_000, session=60_000)
    desk.advance(6000)
    synced = first if state == STABLE else second
    desk.sync(synced, assignments={first: "all"})
    assert desk.state == state
    desk.advance(20_000)
    assert desk.state == PREPARING_REBALANCE
    assert list(desk.group.members) == [synced]
    assert desk.group.leader == synced


@pytest.mark.parametrize(
    ("state", "expected"),
    cells(
        NOT_A_MEMBER,
        ("NONE", PREPARING_REBALANCE),
        ("REBALANCE_IN_PROGRESS", COMPLETING_REBALANCE),
        ("NONE", STABLE),
    ).items(),
)
def test_commit_of_a_member(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    desk.advance(1000)
    member_id = "unknown" if state == EMPTY else follower_of(desk)
    assert (desk.commit(member_id, 1), desk.state) == expected
    if expected[0] == "NONE":
        assert desk.world.timers["session", "g", member_id].due == desk.now + 45_000
        assert desk.fetched() == {("t", 0): 1}
    else:
        assert desk.fetched() == {}


def test_commit_of_nobody_is_taken_by_an_empty_group_only(desk: Desk) -> None:
    assert desk.commit() == ("NONE" if desk.state == EMPTY else "UNKNOWN_MEMBER_ID")


def test_only_an_empty_group_is_deleted(desk: Desk) -> None:
    empty = desk.state == EMPTY
    assert desk.delete() == ("NONE" if empty else "NON_EMPTY_GROUP")
    assert (desk.state == DEAD) == empty


def test_nothing_is_answered_for_a_group_whose_partition_is_led_by_another(desk: Desk) -> None:
    member_id = next(iter(desk.group.members), "unknown")
    desk.command(OffsetsLeaders(("another",)))
    assert desk.state == DEAD
    assert desk.world.timers == {}
    assert desk.join().error == "NOT_COORDINATOR"
    assert desk.sync(member_id, 1).error == "NOT_COORDINATOR"
    assert desk.heartbeat(member_id, 1) == "NOT_COORDINATOR"
    assert desk.commit() == "NOT_COORDINATOR"
    assert desk.describe().error == "NOT_COORDINATOR"
    assert desk.delete() == "NOT_COORDINATOR"


# --- a known static instance without a member id (2.8) ---------------------------------------------------------------


def static_group(members: int = 2, protocols: tuple[str, ...] = ("range",)) -> Desk:
    desk = Desk()
    for number in range(members):
        desk.join(name=f"c{number}", instance=f"i{number}", protocols=protocols)
    desk.advance(6000)
    return desk


def test_a_static_member_that_is_back_in_preparing_stays_parked_and_the_old_one_is_fenced() -> None:
    desk = static_group()
    desk.settle(list(desk.group.members))
    old = desk.group.static_members["i1"]
    desk.join(leader_of(desk), name="c0", instance="i0")
    desk.join(old, name="c1", instance="i1", topics=("u",))
    assert desk.state == COMPLETING_REBALANCE
    desk.leave(desk.group.static_members["i0"])
    assert desk.state == PREPARING_REBALANCE
    number = desk._count + 1
    desk.join(name="c9", instance="i9")
    assert desk.join(name="c9", instance="i9", sender="other") is None
    assert desk.answers[number][1].error == "FENCED_INSTANCE_ID"
    assert desk.answers[number][1].member_id != desk.group.static_members["i9"]


def test_a_static_member_that_is_back_in_completing_starts_a_rebalance() -> None:
    desk = static_group()
    number = desk._count + 1
    desk.sync(desk.group.static_members["i1"])
    assert desk.join(name="c1", instance="i1") is None
    assert desk.state == PREPARING_REBALANCE
    assert desk.answers[number][1].error == "FENCED_INSTANCE_ID"


def test_a_static_member_that_is_back_in_stable_goes_on_unless_the_vote_changes() -> None:
    desk = static_group(protocols=("range", "roundrobin"))
    desk.settle(list(desk.group.members))
    answer = desk.join(name="c1", instance="i1", protocols=("range",), topics=("other",))
    assert (answer.error, answer.generation, desk.state) == ("NONE", 1, STABLE)
    assert desk.sync(answer.member_id, 1, instance="i1").assignment == (("t", 1),)
    desk = static_group(1, protocols=("range", "roundrobin"))
    desk.settle(list(desk.group.members))
    answer = desk.join(name="c0", instance="i0", protocols=("roundrobin", "range"))
    assert (answer.generation, answer.protocol, desk.state) == (2, "roundrobin", COMPLETING_REBALANCE)


def test_an_older_client_is_told_that_the_old_leader_leads() -> None:
    desk = static_group()
    desk.settle(list(desk.group.members))
    old = leader_of(desk)
    answer = desk.join(name="c0", instance="i0", version=8)
    assert (answer.leader, answer.members, answer.skip_assignment) == (old, (), False)
    assert leader_of(desk) == answer.member_id


def test_the_id_that_a_replaced_member_owed_its_sync_under_still_counts() -> None:
    # Kafka forgets to carry pendingSync over: the sync timer finds nobody to remove and starts a rebalance.
    desk = Desk()
    for number in range(2):
        desk.join(name=f"c{number}", instance=f"i{number}", rebalance=20_000, session=100_000)
    desk.advance(6000)
    old = desk.group.static_members["i1"]
    desk.sync(leader_of(desk), assignments={})
    answer = desk.join(name="c1", instance="i1", rebalance=20_000, session=100_000)
    assert (answer.error, list(desk.group.pending_sync)) == ("NONE", [old])
    assert desk.sync(answer.member_id, 1).error == "NONE"
    desk.advance(20_000)
    assert (desk.state, len(desk.group.members)) == (PREPARING_REBALANCE, 2)
