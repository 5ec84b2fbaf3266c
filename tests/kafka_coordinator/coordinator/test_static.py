"""A known static instance that comes without a member id (spec 2.8)."""

from kafka_coordinator.coordinator.states import PREPARING_REBALANCE
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk


def leader_of(desk: Desk) -> str:
    assert desk.group.leader is not None
    return desk.group.leader


def static_group() -> Desk:
    desk = Desk()
    for number in range(2):
        desk.join(name=f"c{number}", instance=f"i{number}")
    desk.advance(6000)
    return desk


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
