"""Stories of groups of the consumer protocol that take edges of their states which random play takes rarely."""

from collections.abc import Callable

from kafka_coordinator.coordinator.consumer_groups.states import (
    ASSIGNING,
    EMPTY,
    RECONCILING,
    STABLE,
    UNRELEASED,
    UNREVOKED,
)
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk, partitions

ALL = partitions("t", 0, 1, 2, 3)
NO_DOWNGRADE = {"group.consumer.migration.policy": "upgrade"}


def mixed(*others: str, **settings: str) -> tuple[ConsumerDesk, str]:
    """A classic member, which has to give up, and members of the consumer protocol."""
    desk = ConsumerDesk({**NO_DOWNGRADE, **settings})
    classic = desk.classic_group()
    for each in others:
        desk.join(each)
    assert desk.state == RECONCILING
    return desk, classic


def does_not_come_again_while_assigning() -> ConsumerDesk:
    desk, classic = mixed("N", "O")
    desk.beat("O", -1)
    assert desk.classic_beat(classic, 1) == "REBALANCE_IN_PROGRESS"
    desk.advance(20_000)
    assert (desk.state, list(desk.group.members)) == (ASSIGNING, ["N"])
    return desk


def the_last_one_does_not_come_again_while_assigning() -> ConsumerDesk:
    desk, classic = mixed("N")
    desk.beat("N", -1)
    assert desk.classic_beat(classic, 1) == "REBALANCE_IN_PROGRESS"
    desk.advance(20_000)
    assert desk.state == EMPTY
    return desk


def does_not_come_again_while_reconciling() -> ConsumerDesk:
    desk, classic = mixed("N")
    assert desk.classic_beat(classic, 1) == "REBALANCE_IN_PROGRESS"
    desk.advance(20_000)
    assert desk.state == ASSIGNING
    return desk


def alone_and_on_its_way() -> tuple[ConsumerDesk, str]:
    """A classic member that is left alone before it has given up."""
    desk, classic = mixed("N")
    desk.classic_join(classic, ALL)
    desk.beat("N", -1)
    desk.classic_join(classic, ALL)
    assert desk.state == RECONCILING
    return desk, classic


def the_last_one_does_not_come_again_while_reconciling() -> ConsumerDesk:
    desk, classic = alone_and_on_its_way()
    assert desk.classic_sync(classic, 1).error == "NONE"
    assert desk.classic_beat(classic, 1) == "REBALANCE_IN_PROGRESS"
    desk.advance(20_000)
    assert desk.state == EMPTY
    return desk


def the_last_one_does_not_sync_while_reconciling() -> ConsumerDesk:
    desk, _ = alone_and_on_its_way()
    desk.advance(20_000)
    assert desk.state == EMPTY
    return desk


def the_last_one_does_not_sync() -> ConsumerDesk:
    """First while the target is outdated, then in a stable group."""
    desk = ConsumerDesk(NO_DOWNGRADE)
    for comes_again in (False, True):
        desk.join("N")
        classic = desk.classic_join().member_id
        desk.classic_join(classic)
        desk.beat("N", -1)
        if comes_again:
            desk.classic_join(classic)
        assert desk.state == (STABLE if comes_again else ASSIGNING)
        desk.advance(20_000)
        assert desk.state == EMPTY
    return desk


def changes_the_protocol_after_it_was_told_to_come_again() -> ConsumerDesk:
    """The released broker does not stop the timer then, and fences a member that has done all it should."""
    edges = {}
    for alone in (True, False):
        desk, member_id = mixed("N")
        assert desk.classic_beat(member_id, 1) == "REBALANCE_IN_PROGRESS"
        if alone:
            desk.beat("N", -1)
        desk.beat(member_id, 1)
        desk.settle()
        assert desk.state == STABLE
        desk.advance(20_000)
        assert desk.state == (EMPTY if alone else ASSIGNING)
        edges |= desk.edges
    desk.edges = edges
    return desk


def replaced_while_assigning() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("A", instance_id="I")
    desk.join("B")
    desk.beat("B", -1)
    desk.beat("A", -2, instance_id="I")
    assert desk.state == ASSIGNING
    desk.join("A2", instance_id="I")
    assert desk.state == STABLE
    return desk


def several_leave() -> ConsumerDesk:
    desk = ConsumerDesk()
    for each in "ABC":
        desk.join(each)
    desk.beat("B", -1)
    desk.beat("C", -1)
    assert desk.state == ASSIGNING
    return desk


def patterns_are_resolved_while_assigning() -> ConsumerDesk:
    desk = ConsumerDesk()
    core = desk.world.node.core
    core.settings = type(core.settings)(offsets_topic_num_partitions=1, resolve_regex_ms=700)
    desk.join("B", ())
    desk.join("A", None, regex="t")
    desk.beat("B", -1)
    assert desk.state == ASSIGNING
    desk.advance(700)
    assert (desk.state, desk.epochs()) == (ASSIGNING, (3, 1))
    return desk


def the_last_one_does_not_give_up() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("A")
    desk.join("B")
    desk.beat("A")
    desk.beat("B", -1)
    desk.advance(30_000)
    assert desk.state == EMPTY
    return desk


def an_administrator_removes_a_member_that_is_away() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("A", instance_id="I")
    desk.beat("A", -2, instance_id="I")
    assert desk.state == RECONCILING
    desk.leave(("", "I"))
    assert desk.state == EMPTY
    return desk


def downgraded_while_stable() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("N")
    classic = desk.classic_join().member_id
    desk.classic_join(classic)
    desk.beat("N")
    desk.acknowledge("N")
    desk.classic_join(classic)
    assert desk.state == STABLE
    desk.beat("N", -1)
    assert desk.classic_state == "PreparingRebalance"
    return desk


def downgraded_while_reconciling() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("N")
    desk.classic_join(desk.classic_join().member_id)
    assert desk.state == RECONCILING
    desk.beat("N", -1)
    assert desk.classic_state == "PreparingRebalance"
    return desk


def replaced_while_it_waits() -> ConsumerDesk:
    desk = ConsumerDesk()
    desk.join("A")
    desk.join("B", instance_id="I")
    assert desk.standing("B")[1] == UNRELEASED
    desk.beat("B", -2, instance_id="I")
    desk.join("B2", instance_id="I")
    assert desk.standing("B2")[1] == UNRELEASED
    return desk


def subscribes_to_less_while_it_gives_up() -> ConsumerDesk:
    desk = ConsumerDesk({"version": "4.4"}, {"t": 4, "u": 2})
    desk.join("A", ("t", "u"))
    desk.advance(1000)
    desk.join("B", ("t", "u"))
    desk.beat("A")
    assert desk.standing("A") == (2, UNREVOKED)
    desk.beat("A", topics=("other",))
    assert desk.standing("A") == (2, UNREVOKED)
    assert not desk.group.members["A"].standing.assigned
    return desk


DIRECTED: tuple[Callable[[], ConsumerDesk], ...] = (
    does_not_come_again_while_assigning,
    the_last_one_does_not_come_again_while_assigning,
    does_not_come_again_while_reconciling,
    the_last_one_does_not_come_again_while_reconciling,
    the_last_one_does_not_sync_while_reconciling,
    the_last_one_does_not_sync,
    changes_the_protocol_after_it_was_told_to_come_again,
    replaced_while_assigning,
    several_leave,
    patterns_are_resolved_while_assigning,
    the_last_one_does_not_give_up,
    an_administrator_removes_a_member_that_is_away,
    downgraded_while_stable,
    downgraded_while_reconciling,
    replaced_while_it_waits,
    subscribes_to_less_while_it_gives_up,
)
"""Stories for edges that random play takes rarely or, with one broker's settings, never."""
