"""What a simulated Kafka group makes of what happens around it: brokers, topics, offsets, connections."""

from itertools import pairwise

import pytest

from kafka_coordinator.consumer.states import STABLE
from protocols.errors import UserError
from protocols.facts import Delivered, Position
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    DeleteTopic,
    Disconnect,
    Join,
    Leave,
    Network,
    Queues,
    Reset,
)
from tests.kafka_coordinator.kafka_stories import Story, at
from tests.rows import rows


def test_a_broker_that_stops_hands_over_at_once_and_leads_again_at_the_next_check() -> None:
    story = Story(brokers=("b1", "b2"))
    before = story.cluster.controller.state.offsets_leaders
    for seconds, does in ((20, "stop"), (60, "return")):
        event = BrokerEvent(at=at(seconds), broker="b1", does=does)
        story.simulation.at(at(seconds), lambda event=event: story.cluster.apply(event))  # type: ignore[misc]
    seen = story.until(50)
    assert set(story.cluster.controller.state.offsets_leaders) == {"b2"}
    assert seen.generations() == [1]  # the group is Stable again from the log
    story.until(299)
    assert set(story.cluster.controller.state.offsets_leaders) == {"b2"}
    story.until(400)
    assert story.cluster.controller.state.offsets_leaders == before
    consumers = [consumer for consumer in map(story.cluster.consumer, ("c1", "c2")) if consumer]
    assert all(consumer.state.membership.state == STABLE for consumer in consumers)


def test_fewer_partitions_are_refused() -> None:
    with pytest.raises(UserError, match="from 6 to 5 partitions: Kafka cannot remove partitions"):
        Story(events=[Queues(at=at(20), queues={"t": {"b1": 5}})])


@rows("strategy", ["range", "cooperative-sticky"])
@rows("reset", ["earliest", "latest"])
def test_a_topic_created_again_is_read_from_its_first_record_and_a_deleted_one_not_at_all(
    strategy: str, reset: str
) -> None:
    events = [DeleteTopic(at=at(60), delete_topic="t"), AddTopic(at=at(90), add_topic={"t": {"queues": {"b1": 2}}})]
    settings = {"partition.assignment.strategy": strategy, "auto.offset.reset": reset}
    seen = Story(rate=5.0, events=events, settings=settings).until(400)
    delivered = [(now, fact) for now, fact in seen.of(Delivered) if now > at(60)]
    assert all(fact.since >= at(90) for _, fact in delivered)
    for number in (0, 1):
        spans = sorted((fact.first, fact.end) for _, fact in delivered if fact.queue.number == number)
        assert spans[0][0] == 0
        assert all(one[1] == other[0] for one, other in pairwise(spans))
        assert (390 - 90) * 5 < spans[-1][1] <= (400 - 90) * 5  # told with every commit


def test_offsets_are_reset_for_an_empty_group_only() -> None:
    events = [
        Reset(at=at(20), reset_offsets="g", topic="t", to=at(10)),
        Leave(at=at(30), leave="c1"),
        Leave(at=at(30), leave="c2"),
        Reset(at=at(40), reset_offsets="g", topic="t", to=at(10)),
        Join(at=at(50), join="c1", group="g", subscribe=("t",)),
    ]
    seen = Story(rate=10.0, events=events).until(60)
    assert seen.notes() == ["offsets of g are not reset: the group is Stable, not empty", "offsets of g are reset"]
    assert {fact.offset for now, fact in seen.of(Position) if now > at(50)} == {100}


def test_a_connection_that_is_cut_is_opened_again() -> None:
    seen = Story(events=[Disconnect(at=at(20), disconnect="c1")]).until(80)
    assert seen.generations() == [1]


def test_a_network_cut_longer_than_the_session_ends_the_membership() -> None:
    events = [Network(at=at(20), network="cut", between=("c1",), **{"for": at(60)})]
    seen = Story(settings={"session.timeout.ms": 10_000}, events=events).until(200)
    assert seen.owners() == {"c1": (3, 4, 5), "c2": (0, 1, 2)} or seen.owners() == {"c1": (0, 1, 2), "c2": (3, 4, 5)}
    assert ("lost", (0, 1, 2)) in seen.callbacks("c1")
