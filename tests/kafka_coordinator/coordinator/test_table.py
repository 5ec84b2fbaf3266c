"""Spec 2.3, cell by cell: what an event does to a group in each state, and what is answered."""

from collections.abc import Callable

from kafka_coordinator.coordinator import OffsetsLeaders
from kafka_coordinator.coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.kafka_coordinator.coordinator.group_states import (
    MAKE,
    NOT_A_MEMBER,
    PARKED_AND_PREPARING,
    Cell,
    cells,
    follower_of,
    in_completing,
    in_preparing,
    leader_of,
)
from tests.rows import rows


def in_every_state(test: Callable[[Desk], None]) -> Callable[..., None]:
    """The test, as one case, at a desk of each state."""

    @rows("state", MAKE)
    def tested(state: str) -> None:
        desk = MAKE[state]()
        assert desk.state == state
        test(desk)

    return tested


@in_every_state
def test_a_join_without_id_is_given_one_and_changes_nothing(desk: Desk) -> None:
    before, generation, pending = desk.state, desk.group.generation, len(desk.group.pending_join)
    answer = desk.join(name="new")
    assert (answer.error, answer.generation) == ("MEMBER_ID_REQUIRED", -1)
    assert answer.member_id.startswith("new-")
    assert (desk.state, desk.group.generation, len(desk.group.pending_join)) == (before, generation, pending + 1)


@in_every_state
def test_an_old_client_s_join_without_id_makes_it_a_member(desk: Desk) -> None:
    members = len(desk.group.members)
    assert desk.join(name="new", version=3) is None
    assert (desk.state, len(desk.group.members)) == (PREPARING_REBALANCE, members + 1)


@in_every_state
def test_a_join_with_a_pending_id_makes_it_a_member(desk: Desk) -> None:
    members = len(desk.group.members)
    desk.new("new")
    assert (desk.state, len(desk.group.members), desk.group.pending_join) == (PREPARING_REBALANCE, members + 1, {})


@in_every_state
def test_a_new_static_member_is_taken_in_without_a_second_request(desk: Desk) -> None:
    assert desk.join(name="new", instance="i") is None
    assert desk.state == PREPARING_REBALANCE
    assert desk.group.static_members["i"].startswith("i-")


@in_every_state
def test_a_pending_id_with_an_instance_id_is_what_kafka_throws_at(desk: Desk) -> None:
    before, member_id = desk.state, desk.join().member_id
    answer = desk.join(member_id, instance="i")
    assert (answer.error, answer.member_id, answer.generation) == ("UNKNOWN_SERVER_ERROR", "", -1)
    assert desk.state == before
    assert member_id in desk.group.pending_join


@rows(
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


@rows(
    ("state", "expected"),
    cells(NOT_A_MEMBER, PARKED_AND_PREPARING, ("NONE", COMPLETING_REBALANCE), PARKED_AND_PREPARING).items(),
)
def test_an_unchanged_leader_s_join_starts_a_rebalance_in_stable_only(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    answer = desk.join("unknown" if state == EMPTY else leader_of(desk))
    assert (answer and answer.error, desk.state) == expected
    if state == COMPLETING_REBALANCE:
        assert len(answer.members) == 2


@rows(
    ("state", "expected"),
    cells(NOT_A_MEMBER, PARKED_AND_PREPARING, PARKED_AND_PREPARING, PARKED_AND_PREPARING).items(),
)
def test_a_member_that_changed_starts_a_rebalance(state: str, expected: Cell) -> None:
    desk = MAKE[state]()
    answer = desk.join("unknown" if state == EMPTY else follower_of(desk), topics=("t", "u"))
    assert (answer and answer.error, desk.state) == expected


@rows(
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


@rows(
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


@rows(
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


@rows(
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


@in_every_state
def test_whoever_leaves_last_of_all_completes_the_join(desk: Desk) -> None:
    if desk.state == EMPTY:
        return
    desk.leave(*[member for member in desk.group.members if desk.group.members[member].join is None])
    expected = COMPLETING_REBALANCE if desk.group.members else EMPTY
    assert desk.state == expected
    assert desk.group.generation == 2


@in_every_state
def test_leave_of_a_pending_id_is_as_a_leave(desk: Desk) -> None:
    before, members, generation = desk.state, len(desk.group.members), desk.group.generation
    member_id = desk.join().member_id
    assert desk.leave(member_id) == ["NONE"]
    # Where nobody is, nobody has to join anew.
    after = EMPTY if before == EMPTY else PREPARING_REBALANCE
    assert (desk.state, len(desk.group.members), desk.group.pending_join) == (after, members, {})
    desk.advance(10_000)
    assert desk.group.generation == generation or before != EMPTY


@rows(
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


@in_every_state
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


@rows("state", [COMPLETING_REBALANCE, STABLE])
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


@rows(
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


@in_every_state
def test_commit_of_nobody_is_taken_by_an_empty_group_only(desk: Desk) -> None:
    assert desk.commit() == ("NONE" if desk.state == EMPTY else "UNKNOWN_MEMBER_ID")


@in_every_state
def test_only_an_empty_group_is_deleted(desk: Desk) -> None:
    empty = desk.state == EMPTY
    assert desk.delete() == ("NONE" if empty else "NON_EMPTY_GROUP")
    assert (desk.state == DEAD) == empty


@in_every_state
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
