"""ConsumerGroupHeartbeat: the executed runs of the specification (6.11, 6.12), and what is refused."""

from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNREVOKED
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk


def test_a_member_that_is_away_need_not_give_up_in_time() -> None:
    desk = ConsumerDesk({"group.consumer.session.timeout.ms": 60_000})
    desk.join("A", instance_id="I")
    desk.join("B")
    desk.beat("A", instance_id="I")
    assert desk.standing("A") == (1, UNREVOKED)
    desk.beat("A", -2, instance_id="I")
    desk.advance(59_999)
    desk.beat("B")
    assert "A" in desk.group.members


def test_a_broker_without_the_consumer_protocol_says_so() -> None:
    desk = ConsumerDesk({"group.coordinator.rebalance.protocols": "classic"})
    assert desk.join("A").error == "UNSUPPORTED_VERSION"


def test_patterns_are_resolved_again_after_their_longest_age() -> None:
    desk = ConsumerDesk({"group.consumer.regex.refresh.interval.ms": 30_000}, topics={"t": 1})
    desk.join("A", None, regex="t")
    desk.beat("A")
    first = desk.group.resolved["t"].at
    desk.advance(30_000)
    desk.beat("A")
    assert desk.group.resolved["t"].at == first
    desk.advance(1)
    desk.beat("A")
    assert desk.group.resolved["t"].at == 30_001


def test_the_observer_sees_grants_and_when_a_rebalance_begins_and_ends() -> None:
    desk = ConsumerDesk()
    desk.join("A")
    desk.join("B")
    desk.settle()
    began = [fact for fact in desk.facts if isinstance(fact, RebalanceBegan)]
    ended = [fact for fact in desk.facts if isinstance(fact, RebalanceEnded)]
    assert [(fact.by, fact.generation) for fact in began] == [("A", 1), ("B", 2)]
    assert [(fact.generation, fact.changed) for fact in ended] == [(1, True), (2, True)]
    granted = [
        (fact.member, [queue.number for queue in fact.queues]) for fact in desk.facts if isinstance(fact, Granted)
    ]
    assert granted == [("A", [0, 1, 2, 3]), ("A", [0, 1]), ("B", [2, 3])]
    desk.facts.clear()
    desk.beat("B", -1)
    assert ("B", ()) in [(fact.member, fact.queues) for fact in desk.facts if isinstance(fact, Granted)]
    assert desk.standing("A") == (2, M_STABLE)
