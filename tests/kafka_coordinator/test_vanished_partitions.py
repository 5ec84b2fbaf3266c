"""A group whose topic was deleted and created again with fewer partitions, under the sticky assignors.

Members go on claiming partitions that are gone, and the released assignors hand these out and give others second
owners (spec 5.7): the group lives on, nothing is read from what is not there.
"""

from protocols.facts import Delivered, Granted, Owns
from protocols.scenario.events import AddTopic, DeleteTopic, Join
from tests.kafka_coordinator.kafka_stories import Observed, Story, at
from tests.rows import rows

MEMBERS = {"c1": {"subscribe": ("t",)}, "c2": {"subscribe": ("t", "u")}, "c3": {"subscribe": ("u",)}}
SHRUNK = [
    DeleteTopic(at=at(30), delete_topic="t"),
    AddTopic(at=at(30.5), add_topic={"t": {"queues": {"b1": 2}}}),
    Join(at=at(60), join="c4", group="g", subscribe=("t", "u")),
]


def _shrunk(strategy: str, seconds: float) -> Observed:
    topics = {"t": 6, "u": 3}
    settings = {"partition.assignment.strategy": strategy, "metadata.max.age.ms": 20_000}
    return Story(members=MEMBERS, topics=topics, rate=2.0, events=SHRUNK, settings=settings).until(seconds)


@rows("strategy", ["sticky", "cooperative-sticky"])
def test_members_are_handed_what_is_gone_and_what_another_one_has(strategy: str) -> None:
    seen = _shrunk(strategy, 58)
    owned = {fact.member: fact.queues for _, fact in seen.of(Owns)}
    granted = {fact.member: fact.queues for _, fact in seen.of(Granted)}
    assert owned == granted
    every = [queue for queues in owned.values() for queue in queues]
    assert {queue for queue in every if queue.topic == "t" and queue.number >= 2}
    assert {queue.topic for queue in every if every.count(queue) > 1} == {"u"}
    # Who is handed a partition twice owns it once.
    assert all(len(set(fact.queues)) == len(fact.queues) for kind in (Owns, Granted) for _, fact in seen.of(kind))


@rows("strategy", ["sticky", "cooperative-sticky"])
def test_nothing_is_read_from_a_partition_that_is_gone(strategy: str) -> None:
    delivered = [fact for now, fact in _shrunk(strategy, 120).of(Delivered) if now > at(31)]
    assert {fact.queue.number for fact in delivered if fact.queue.topic == "t"} == {0, 1}


def test_range_forgets_what_is_gone() -> None:
    owned = {fact.member: fact.queues for _, fact in _shrunk("range", 120).of(Owns)}
    every = [queue for queues in owned.values() for queue in queues]
    there = [(topic, number) for topic, count in (("t", 2), ("u", 3)) for number in range(count)]
    assert sorted((queue.topic, queue.number) for queue in every) == there
