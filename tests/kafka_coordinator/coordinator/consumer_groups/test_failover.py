"""Another coordinator goes on from where the group was: all but the time limits is in the log (1.3, 1.4)."""

from collections.abc import Callable

from kafka_coordinator.coordinator.consumer_groups.states import ASSIGNING, EMPTY, RECONCILING, STABLE, UNREVOKED
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk, partitions
from tests.rows import rows


def empty(desk: ConsumerDesk) -> None:
    desk.join("A")
    desk.commit("A", 1)
    desk.beat("A", -1)


def assigning(desk: ConsumerDesk) -> None:
    desk.join("A")
    desk.join("B")
    desk.settle()
    desk.beat("B", -1)


def patterns_resolved(desk: ConsumerDesk) -> None:
    desk.join("A", None, regex="t.*", assignor="range", rack="r")


def revoking(desk: ConsumerDesk) -> None:
    desk.join("A", instance_id="I")
    desk.join("B")
    desk.beat("A", instance_id="I")


def away(desk: ConsumerDesk) -> None:
    desk.join("A", instance_id="I")
    desk.beat("A", -2, instance_id="I")


def replaced(desk: ConsumerDesk) -> None:
    away(desk)
    desk.join("B", instance_id="I")


def mixed(desk: ConsumerDesk) -> None:
    desk.classic_group()
    desk.join("N")


def pattern_gone(desk: ConsumerDesk) -> None:
    desk.join("A", None, regex="t")
    desk.join("B")
    desk.beat("A", regex="", topics=("t",))
    desk.settle()


@rows(
    ("build", "state"),
    [
        (empty, EMPTY),
        (assigning, ASSIGNING),
        (patterns_resolved, ASSIGNING),
        (revoking, RECONCILING),
        (away, RECONCILING),
        (replaced, STABLE),
        (mixed, RECONCILING),
        (pattern_gone, STABLE),
    ],
)
@rows("compacted", [False, True])
def test_a_group_is_afterwards_what_it_was_before(
    build: Callable[[ConsumerDesk], None], state: str, compacted: bool
) -> None:
    desk = ConsumerDesk()
    build(desk)
    before = desk.group
    assert desk.state == state
    if compacted:
        desk.world.node.core.storage.partitions[0].compact()
    desk.away_and_back()
    after = desk.group
    assert after is not before
    assert after.state == state
    for name in ("epoch", "target_epoch", "metadata_hash", "target", "owners", "by_name", "by_pattern", "offsets"):
        assert getattr(after, name) == getattr(before, name), name
    assert {each.id: (each.profile, each.standing) for each in after.members.values()} == {
        each.id: (each.profile, each.standing) for each in before.members.values()
    }
    assert {regex: each.topics for regex, each in after.resolved.items()} == {
        regex: each.topics for regex, each in before.resolved.items()
    }
    if state != EMPTY:
        for member_id in list(after.members):
            if after.members[member_id].profile.classic is None and not after.members[member_id].is_away:
                assert desk.beat(member_id, instance_id=after.members[member_id].profile.instance_id).error == "NONE"


def test_sessions_and_the_time_to_revoke_begin_anew() -> None:
    desk = ConsumerDesk()
    desk.join("A")
    desk.join("B")
    desk.beat("A")
    desk.advance(29_000)
    desk.away_and_back(100)
    assert desk.standing("A")[1] == UNREVOKED
    desk.advance(29_999)
    assert "A" in desk.group.members
    desk.advance(1)
    assert list(desk.group.members) == ["B"]
    desk.advance(15_000)
    assert desk.state == EMPTY


def test_while_the_log_is_read_and_elsewhere_nobody_is_served() -> None:
    desk = ConsumerDesk()
    desk.join("A")
    desk.away_and_back(0)
    assert desk.beat("A", 1).error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert desk.describe().error == "COORDINATOR_LOAD_IN_PROGRESS"
    desk.advance(100)
    assert desk.beat("A", 1).error == "NONE"


def test_a_group_that_is_converted_is_loaded_as_what_it_has_become() -> None:
    desk = ConsumerDesk()
    m = desk.classic_group()
    desk.join("N")
    desk.beat("N", -1)
    desk.away_and_back()
    assert desk.world.node.core.consumer_groups == {}
    group = desk.world.node.core.groups["g"]
    assert (group.state, group.generation, list(group.members)) == ("Stable", 2, [m])
    assert group.members[m].assignment == partitions("t", 0, 1)
