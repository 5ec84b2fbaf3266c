"""Stories of a group that take edges of its states which random play takes rarely."""

from collections.abc import Callable

from kafka_coordinator.coordinator import OffsetsLeaders, Topics, states
from kafka_coordinator.coordinator.states import PREPARING_REBALANCE
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk


def too_large_when_loaded() -> Desk:
    desk = Desk()
    desk.stable(3)
    smaller = Desk({"group.max.size": 2}, name="b", storage=desk.world.node.core.storage, leaders=("b",))
    smaller.advance(1000)
    return smaller


def only_absent_static_members() -> Desk:
    desk = Desk()
    desk.join(instance="i", session=60_000, rebalance=7000)
    desk.advance(3000)
    desk.settle(list(desk.group.members))
    desk.leave(desk.join().member_id)
    desk.advance(7000)
    return desk


def static_members_change_the_vote() -> Desk:
    desk = Desk()
    desk.join(instance="i", protocols=("range", "roundrobin"))
    desk.advance(3000)
    desk.settle(list(desk.group.members))
    desk.join(instance="i", protocols=("range", "roundrobin"))
    desk.join(instance="i", protocols=("roundrobin", "range"))
    desk.join(instance="i", protocols=("roundrobin", "range"))
    return desk


def deleted_while_empty() -> Desk:
    desk = Desk()
    desk.leave(*desk.stable(1))
    desk.leave(desk.join().member_id)
    desk.advance(3000)
    desk.delete()
    return desk


def everybody_joins(desk: Desk) -> None:
    """Whoever has not joined does, unchanged; the group is then in CompletingRebalance."""
    desk.advance(6000)
    for member in list(desk.group.members.values()):
        if desk.state == PREPARING_REBALANCE and member.join is None:
            protocols, topics = tuple(name for name, _ in member.protocols), member.protocols[0][1].topics
            desk.join(member.id, instance=member.instance_id, protocols=protocols, topics=topics, rebalance=20_000)
    assert desk.state == states.COMPLETING_REBALANCE


def completing_is_disturbed() -> Desk:
    """Whatever can happen between the join's answers and the leader's sync, one after the other."""
    desk = Desk()
    leader, _ = desk.new("A", rebalance=20_000)
    follower, _ = desk.new("B", rebalance=20_000)
    desk.join(name="C", instance="i", rebalance=20_000)
    everybody_joins(desk)
    desk.join(name="C", instance="i", rebalance=20_000)  # a static member is back, and then again
    desk.join(name="C", instance="i", rebalance=20_000)
    everybody_joins(desk)
    desk.join(session=6000)  # an id is asked for and not used
    desk.join(leader, name="A", rebalance=20_000)
    desk.advance(6000)
    desk.sync(follower)
    desk.advance(14_000)  # the leader does not sync in time
    everybody_joins(desk)
    desk.join(follower, name="B", rebalance=20_000, topics=("t", "v"))
    everybody_joins(desk)
    desk.new("D", rebalance=20_000)
    everybody_joins(desk)
    assert desk.leave(follower) == ["NONE"]
    everybody_joins(desk)
    desk.leave(desk.new("E", rebalance=20_000)[0])
    everybody_joins(desk)
    return desk


def sessions_end() -> Desk:
    desk = Desk()
    desk.new(session=6000, rebalance=20_000)
    desk.advance(9000)
    assert desk.state == states.EMPTY
    desk.stable(1)
    desk.advance(60_000)
    return desk


def stable_is_disturbed() -> Desk:
    """Whatever can happen to a stable group, one after the other."""
    desk = Desk()
    first, second = desk.stable(2, rebalance=20_000)
    leader = desk.group.leader
    follower = second if leader == first else first
    desk.join(follower, name="c1", rebalance=20_000)
    desk.join(session=6000)
    desk.advance(6000)
    desk.sync(follower)
    desk.join(first, name="c0", rebalance=20_000, topics=("u",))
    desk.join(second, name="c1", rebalance=20_000, topics=("u",))
    desk.join(first, name="c0", rebalance=20_000, topics=("u",))
    desk.sync(desk.group.leader or "", assignments={})
    desk.advance(20_000)
    return desk


def broker_comes_and_goes() -> Desk:
    """A broker loses and regains a group in every state."""
    desk = Desk({"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 60_000})

    def away_and_back() -> None:
        desk.command(OffsetsLeaders(("another",)))
        desk.command(OffsetsLeaders(("broker",)))
        desk.advance(100)

    desk.join(session=6000)
    desk.advance(6000)
    desk.join()
    away_and_back()
    desk.new()
    away_and_back()
    desk.new()
    desk.advance(3000)
    away_and_back()
    [member_id] = desk.stable(1)
    away_and_back()
    desk.join(session=6000)
    desk.new("late")
    desk.join(session=6000)
    desk.advance(6000)
    desk.advance(60_000)
    desk.leave(member_id)
    desk.advance(400_000)
    return desk


def to_the_consumer_protocol_and_back() -> Desk:
    """A classic group is upgraded in every state, and downgraded again."""
    desk = Desk()
    desk.command(Topics({"t": 2}))

    def upgrade_and_back(member_id: str) -> None:
        assert desk.consumer().error == "NONE"
        desk.join(member_id)
        desk.consumer(epoch=-1)
        desk.join(member_id)
        assert desk.state == states.COMPLETING_REBALANCE

    leader, _ = desk.new()
    desk.advance(3000)
    upgrade_and_back(leader)  # out of CompletingRebalance
    desk.sync(leader, assignments={leader: (("t", 0), ("t", 1))})
    upgrade_and_back(leader)  # out of Stable
    desk.sync(leader, assignments={leader: (("t", 0), ("t", 1))})
    late, _ = desk.new("late")
    assert desk.state == PREPARING_REBALANCE
    assert desk.consumer().error == "NONE"  # there is a protocol, from the generation before
    desk.leave(leader, late)
    desk.consumer(epoch=-1)
    desk.join()  # an empty group of either kind makes room for the other
    assert desk.state == states.EMPTY
    desk.consumer()
    return desk


DIRECTED: tuple[Callable[[], Desk], ...] = (
    too_large_when_loaded,
    only_absent_static_members,
    static_members_change_the_vote,
    deleted_while_empty,
    completing_is_disturbed,
    sessions_end,
    stable_is_disturbed,
    broker_comes_and_goes,
    to_the_consumer_protocol_and_back,
)
"""Stories for edges that random play takes rarely or, with one broker's settings, never."""
