"""Classic and consumer members in one group: upgrade, downgrade, and a defect of the released broker (6.9, 6.13)."""

from kafka_coordinator.coordinator import states as classic_states
from kafka_coordinator.coordinator.consumer_groups.states import ASSIGNING, M_STABLE
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk, partitions
from tests.rows import rows


@rows("policy", ["bidirectional", "upgrade", "downgrade", "disabled"])
def test_the_policy_says_which_way_a_group_with_members_may_go(policy: str) -> None:
    desk = ConsumerDesk({"group.consumer.migration.policy": policy})
    desk.classic_group()
    up = desk.join("N").error
    assert up == ("NONE" if policy in ("bidirectional", "upgrade") else "GROUP_ID_NOT_FOUND")
    desk = ConsumerDesk({"group.consumer.migration.policy": policy})
    desk.join("N")
    desk.classic_join(desk.classic_join().member_id)
    desk.beat("N", -1)
    down = desk.state == classic_states.DEAD
    assert down == (policy in ("bidirectional", "downgrade"))


def test_a_group_in_its_first_rebalance_cannot_be_upgraded_which_is_a_defect_of_the_released_broker() -> None:
    desk = ConsumerDesk()
    member_id = desk.classic_join().member_id
    assert desk.classic_join(member_id) is None
    parked = desk._count
    assert desk.join("N").error == "UNKNOWN_SERVER_ERROR"
    assert desk.classic_state == classic_states.PREPARING_REBALANCE
    assert desk.answers[parked].error == "REBALANCE_IN_PROGRESS"
    # Who comes again is in the generation, and then the group can be upgraded.
    assert desk.classic_join(member_id) is None
    desk.advance(3000)
    assert desk.answers[desk._count].generation == 1
    assert desk.join("N").error == "NONE"


def test_a_rebalance_after_the_first_one_is_cut_short_by_an_upgrade() -> None:
    desk = ConsumerDesk()
    first = desk.classic_group()
    late = desk.classic_join().member_id
    assert desk.classic_join(late) is None
    parked = desk._count
    assert desk.join("N").error == "NONE"
    assert desk.answers[parked].error == "REBALANCE_IN_PROGRESS"
    assert set(desk.group.members) == {first, late, "N"}
    assert desk.standing(late) == (1, M_STABLE)


@rows("assignment", ["text of an own assignor", b"x"])
def test_an_assignment_that_is_none_of_a_consumer_s_cannot_be_upgraded(assignment: object) -> None:
    desk = ConsumerDesk()
    desk.classic_group(assignment)  # type: ignore[arg-type]
    assert desk.join("N").error == "GROUP_ID_NOT_FOUND"
    assert desk.classic_state == classic_states.STABLE


def test_a_classic_member_must_have_a_protocol_in_common_with_the_others() -> None:
    desk = ConsumerDesk()
    desk.join("N")
    refused = desk.classic_join("N", kind="connect")
    assert (refused.error, refused.member_id) == ("INCONSISTENT_GROUP_PROTOCOL", "")
    first = desk.classic_join(protocols=("range", "sticky")).member_id
    assert desk.classic_join(first, protocols=("range", "sticky")).protocol == "range"
    assert desk.classic_join(protocols=("roundrobin",)).error == "INCONSISTENT_GROUP_PROTOCOL"
    assert desk.classic_join(protocols=("sticky",)).error == "MEMBER_ID_REQUIRED"


def test_a_static_member_changes_the_protocol_with_its_process() -> None:
    desk = ConsumerDesk()
    desk.join("N", instance_id="I")
    back = desk.classic_join(instance="I")
    assert (back.error, back.generation) == ("NONE", 1)
    assert desk.classic_state == classic_states.STABLE
    assert desk.classic_sync(back.member_id, 1).assignment == partitions("t", 0, 1, 2, 3)
    new = desk.join("M", instance_id="I")
    assert (new.error, new.assignment) == ("NONE", partitions("t", 0, 1, 2, 3))
    assert list(desk.group.members) == ["M"]


def test_an_administrator_removes_members_of_both_kinds_at_once() -> None:
    desk = ConsumerDesk()
    m = desk.classic_group()
    desk.join("N", instance_id="I")
    desk.join("O")
    assert desk.leave(("", "I"), ("", "J"), (m, None)) == ["NONE", "UNKNOWN_MEMBER_ID", "NONE"]
    assert (desk.epochs(), desk.state) == ((4, 3), ASSIGNING)
