"""The join phase over time: the initial delay (spec 2.7), the worked timeline (2.15), the executed runs (2.17)."""

from kafka_coordinator.coordinator.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from kafka_coordinator.messages import LeaveGroup, Leaving, SyncGroup
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded
from protocols.java import string_entry_order
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.rows import rows


def test_the_initial_delay_is_prolonged_by_everybody_who_comes_up_to_the_rebalance_timeout() -> None:
    desk = Desk()
    numbers = []
    for at in (0, 1000, 4000, 7000):
        desk.advance(at - desk.now)
        numbers.append(desk.new(f"c{at}", rebalance=10_000)[1])
    desk.advance(2999)
    assert (desk.now, desk.state) == (9999, PREPARING_REBALANCE)
    desk.advance(1)
    assert (desk.state, desk.group.generation) == (COMPLETING_REBALANCE, 1)
    assert [desk.answers[number][0] for number in numbers] == [10_000] * 4


def test_a_single_member_waits_for_the_delay_alone() -> None:
    desk = Desk()
    _, number = desk.new()
    desk.advance(10_000)
    assert desk.answers[number][0] == 3000


def test_without_delay_the_join_ends_in_the_same_instant() -> None:
    desk = Desk({"group.initial.rebalance.delay.ms": 0})
    _, number = desk.new()
    assert desk.answers[number] == (0, desk.answers[number][1])
    assert desk.answers[number][1].error == "NONE"


def test_two_members_with_the_defaults() -> None:
    desk = Desk()
    first, joined_first = desk.new("A")
    desk.advance(1000)
    second, joined_second = desk.new("B")
    assert desk.group.new_member_added
    desk.advance(2000)
    assert (desk.state, desk.group.delay) == (PREPARING_REBALANCE, (3000, 294_000))
    desk.advance(3000)
    (at, lead), (_, follow) = desk.answers[joined_first], desk.answers[joined_second]
    assert (at, lead.generation, lead.leader, follow.members) == (6000, 1, first, ())
    assert [each.member_id for each in lead.members] == string_entry_order([first, second])
    desk.settle([first, second])
    for at in range(9000, 63_000, 3000):
        desk.advance(at - desk.now)
        desk.heartbeat(first)
        if at <= 18_000:
            desk.heartbeat(second)
    desk.advance(62_999 - desk.now)
    assert desk.state == STABLE
    desk.advance(1)
    assert (desk.state, list(desk.group.members)) == (PREPARING_REBALANCE, [first])
    desk.advance(3000)
    assert desk.heartbeat(first) == "REBALANCE_IN_PROGRESS"
    answer = desk.join(first, name="A")
    assert (answer.generation, desk.state) == (2, COMPLETING_REBALANCE)


def test_a_first_member_s_life() -> None:
    desk = Desk()
    member_id = desk.join().member_id
    assert (desk.state, desk.group.generation, len(desk.group.pending_join)) == (EMPTY, 0, 1)
    assert len(desk.world.node.core.storage.partitions[0].records) == 1
    assert desk.join(member_id) is None
    desk.advance(3000)
    assert (desk.state, desk.group.generation) == (COMPLETING_REBALANCE, 1)
    desk.settle([member_id])
    pending = desk.join().member_id
    assert (desk.state, desk.group.generation, len(desk.group.pending_join)) == (STABLE, 1, 1)
    assert desk.leave(pending) == ["NONE"]
    assert (desk.state, desk.group.generation) == (PREPARING_REBALANCE, 1)
    assert desk.heartbeat(member_id) == "REBALANCE_IN_PROGRESS"
    assert desk.join(member_id).generation == 2
    desk.settle([member_id])
    assert desk.join(member_id).generation == 3, "the leader's join always starts a rebalance"
    desk.settle([member_id])
    assert desk.leave(member_id) == ["NONE"]
    assert (desk.state, desk.group.generation) == (EMPTY, 4)
    desk.new()
    assert (desk.state, desk.group.generation) == (PREPARING_REBALANCE, 4)
    desk.advance(3000)
    assert desk.group.generation == 5


def static_pair(session: int, rebalance: int) -> tuple[Desk, str, str]:
    desk = Desk()
    for name in "AB":
        desk.join(name=name, instance=f"i{name}", session=session, rebalance=rebalance)
    desk.advance(6000)
    desk.settle(list(desk.group.members))
    return desk, desk.group.static_members["iA"], desk.group.static_members["iB"]


def test_static_members_restart_without_a_rebalance() -> None:
    desk, leader, follower = static_pair(45_000, 300_000)
    assert desk.group.leader == leader
    back = desk.join(name="B", instance="iB")
    assert (back.error, back.generation, back.members, back.leader, desk.state) == ("NONE", 1, (), leader, STABLE)
    lead = desk.join(name="A", instance="iA")
    assert (lead.generation, lead.leader, lead.skip_assignment, desk.state) == (1, lead.member_id, True, STABLE)
    assert len(lead.members) == 2
    assert desk.heartbeat(follower, instance="iB") == "FENCED_INSTANCE_ID"
    assert desk.commit(follower, 1, instance="iB") == "FENCED_INSTANCE_ID"
    assert desk.sync(follower, instance="iB").error == "FENCED_INSTANCE_ID"


def test_an_absent_static_member_is_waited_for_until_its_session_ends() -> None:
    desk, leader, follower = static_pair(45_000, 300_000)
    at = desk.now
    desk.new("C")
    desk.join(leader, name="A", instance="iA")
    while desk.state == PREPARING_REBALANCE:
        desk.advance(1000)
    assert desk.now - at == 45_000
    assert (desk.group.generation, len(desk.group.members)) == (2, 2)
    assert follower not in desk.group.members


def test_an_absent_static_member_is_taken_along_when_the_join_times_out_first() -> None:
    desk, leader, follower = static_pair(600_000, 20_000)
    at = desk.now
    third, _ = desk.new("C", rebalance=20_000)
    desk.join(leader, name="A", instance="iA", session=600_000, rebalance=20_000)
    while desk.state == PREPARING_REBALANCE:
        desk.advance(1000)
    assert desk.now - at == 20_000
    assert (desk.group.generation, len(desk.group.members)) == (2, 3)
    desk.sync(third)
    desk.sync(leader, instance="iA")
    assert desk.state == STABLE
    desk.advance(20_000)
    assert (desk.state, follower in desk.group.members, len(desk.group.members)) == (PREPARING_REBALANCE, False, 2)


def test_only_absent_static_members_postpone_the_join_again_and_again() -> None:
    desk, _, _ = static_pair(600_000, 20_000)
    pending = desk.join(session=6000).member_id
    desk.leave(pending)
    assert desk.state == PREPARING_REBALANCE
    desk.advance(100_000)
    assert (desk.state, desk.group.generation) == (PREPARING_REBALANCE, 1)
    desk.advance(500_000)
    assert (desk.state, desk.group.generation, desk.group.members) == (EMPTY, 2, {})


def test_a_pending_id_that_times_out_ends_even_the_initial_delay() -> None:
    desk = Desk({"group.initial.rebalance.delay.ms": 10_000})
    desk.join(session=6000)
    _, number = desk.new()
    desk.advance(20_000)
    assert desk.answers[number][0] == 6000


def test_the_group_s_size_is_limited_by_parked_joins() -> None:
    desk = Desk({"group.max.size": 2})
    desk.new()
    desk.new()
    assert desk.join().error == "GROUP_MAX_SIZE_REACHED", "even before an id is handed out"
    assert desk.join(instance="i").error == "GROUP_MAX_SIZE_REACHED"
    assert len(desk.group.members) == 2
    desk.advance(6000)
    assert len(desk.group.members) == 2
    assert desk.join(instance="i").error == "GROUP_MAX_SIZE_REACHED"


def test_completing_answers_unchanged_members_at_once_and_rebalances_for_changed_ones() -> None:
    desk = Desk()
    leader, _ = desk.new("A")
    follower, _ = desk.new("B")
    desk.advance(6000)
    assert desk.join(follower, name="B").generation == 1
    assert len(desk.join(leader, name="A").members) == 2
    assert desk.state == COMPLETING_REBALANCE
    desk.sync(follower)
    number = desk._count
    assert desk.join(leader, name="A", protocols=("range", "roundrobin")) is None
    assert desk.state == PREPARING_REBALANCE
    assert desk.answers[number][1].error == "REBALANCE_IN_PROGRESS"
    assert desk.sync(follower).error == "REBALANCE_IN_PROGRESS"
    assert desk.join(follower, name="B").generation == 2
    desk.settle([leader, follower])
    assert desk.join(follower, name="B").generation == 2
    assert desk.join(protocols=("sticky",)).error == "INCONSISTENT_GROUP_PROTOCOL"
    assert desk.join("unknown").error == "UNKNOWN_MEMBER_ID"
    assert desk.join("unknown", instance="unknown").error == "UNKNOWN_MEMBER_ID"


def test_a_leader_that_never_syncs_is_replaced() -> None:
    desk = Desk()
    leader, _ = desk.new("A", rebalance=7000)
    follower, _ = desk.new("B", rebalance=7000)
    desk.advance(6000)
    desk.sync(follower)
    desk.advance(7000)
    assert (desk.state, desk.group.leader, leader in desk.group.members) == (PREPARING_REBALANCE, follower, False)


def test_a_new_member_gives_up_after_five_minutes_while_an_old_one_only_heartbeats() -> None:
    desk = Desk()
    [old] = desk.stable(1, rebalance=900_000)
    at = desk.now
    _, number = desk.new("new", rebalance=900_000)
    while number not in desk.answers:
        desk.advance(10_000)
        desk.heartbeat(old)
    assert desk.answers[number][0] - at == 300_000
    assert desk.answers[number][1].error == "UNKNOWN_MEMBER_ID"
    assert (desk.state, list(desk.group.members)) == (PREPARING_REBALANCE, [old])


def test_members_that_leave_during_the_delay_do_not_end_it() -> None:
    desk = Desk()
    for name in "AB":
        desk.join(name=name, instance=f"i{name}")
    first, second = desk._count - 1, desk._count
    assert desk.leave(("", "iA"), ("", "iB"), ("", "unknown"), "unknown") == [
        "NONE",
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_MEMBER_ID",
    ]
    assert {desk.answers[number][1].error for number in (first, second)} == {"UNKNOWN_MEMBER_ID"}
    assert (desk.state, desk.group.generation) == (PREPARING_REBALANCE, 0)
    desk.advance(6000)
    assert (desk.state, desk.group.generation) == (EMPTY, 1)


@rows("session", [5999, 1_800_001])
def test_session_timeouts_have_bounds(session: int) -> None:
    desk = Desk()
    assert desk.join(session=session).error == "INVALID_SESSION_TIMEOUT"
    assert desk.world.node.core.groups == {}


def test_the_protocol_with_the_most_votes_among_those_all_support_is_taken() -> None:
    desk = Desk()
    for protocols in (("sticky", "range", "roundrobin"), ("range", "sticky"), ("sticky", "range")):
        desk.new(protocols=protocols)
    desk.advance(9000)
    assert desk.group.protocol == "sticky"


def test_a_join_that_is_repeated_while_parked_is_answered_once() -> None:
    desk = Desk()
    member_id, first = desk.new()
    desk.join(member_id)
    desk.advance(3000)
    assert first not in desk.answers
    assert desk.answers[desk._count][1].error == "NONE"


def test_nobody_reads_the_answer_to_a_connection_that_was_closed() -> None:
    desk = Desk()
    member_id = desk.join(sender="gone").member_id
    desk.join(member_id, sender="gone")
    desk.world.closed(desk.now, "gone")
    desk.advance(3000)
    assert desk._count not in desk.answers
    assert (desk.state, member_id in desk.group.members) == (COMPLETING_REBALANCE, True)


def test_the_observer_is_told_who_began_a_rebalance_and_who_got_what() -> None:
    desk = Desk()
    first, _ = desk.new("A")
    second, _ = desk.new("B")
    desk.world.advance(6000)
    desk.world.take_facts()
    for member_id, assignments in ((second, {}), (first, {first: (("t", 1), ("t", 0)), second: ()})):
        desk.world.receive(6000, "client", _sync(desk, member_id, assignments))
    facts = [told.fact for told in desk.world.take_facts()]
    granted = {fact.member: [queue.number for queue in fact.queues] for fact in facts if isinstance(fact, Granted)}
    assert granted == {"A": [0, 1], "B": []}
    assert [fact for fact in facts if isinstance(fact, RebalanceEnded)] == [RebalanceEnded("g", 1, True)]
    desk.world.receive(6000, "client", _leave(desk, first))
    facts = [told.fact for told in desk.world.take_facts()]
    assert Granted("g", "A", (), 1) in facts
    assert RebalanceBegan("g", "A left", "A", 1, of_topics=False) in facts


def _sync(desk: Desk, member_id: str, assignments: dict[str, object]) -> SyncGroup:
    return SyncGroup(desk.number(), "g", member_id, 1, None, None, None, assignments)


def _leave(desk: Desk, member_id: str) -> LeaveGroup:
    return LeaveGroup(desk.number(), "g", (Leaving(member_id, None),))
