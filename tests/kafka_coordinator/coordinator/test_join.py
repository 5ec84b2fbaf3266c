"""The join phase over time where no recorded trace shows it: delays, parked joins, what the observer is told."""

from kafka_coordinator.coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE
from kafka_coordinator.messages import LeaveGroup, Leaving, SyncGroup
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk


def test_without_delay_the_join_ends_in_the_same_instant() -> None:
    desk = Desk({"group.initial.rebalance.delay.ms": 0})
    _, number = desk.new()
    assert desk.answers[number] == (0, desk.answers[number][1])
    assert desk.answers[number][1].error == "NONE"


def static_pair(session: int, rebalance: int) -> tuple[Desk, str, str]:
    desk = Desk()
    for name in "AB":
        desk.join(name=name, instance=f"i{name}", session=session, rebalance=rebalance)
    desk.advance(6000)
    desk.settle(list(desk.group.members))
    return desk, desk.group.static_members["iA"], desk.group.static_members["iB"]


def test_only_absent_static_members_postpone_the_join_again_and_again() -> None:
    desk, _, _ = static_pair(600_000, 20_000)
    pending = desk.join(session=6000).member_id
    desk.leave(pending)
    assert desk.state == PREPARING_REBALANCE
    desk.advance(100_000)
    assert (desk.state, desk.group.generation) == (PREPARING_REBALANCE, 1)
    desk.advance(500_000)
    assert (desk.state, desk.group.generation, desk.group.members) == (EMPTY, 2, {})


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
