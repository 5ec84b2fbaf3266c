"""Partitions with fewer replicas than there are brokers: without a leader nothing is written, read or lost."""

from collections import defaultdict
from typing import Any

from protocols.facts import Delivered, Owns, Position, StandsStill
from protocols.scenario.events import BrokerEvent, Event, Leave, Poison, Produce, Reset
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.rows import rows

BROKERS = ("b1", "b2", "b3")
ON_B2 = (2, 3)
"""Two partitions of each broker, in the order of the brokers."""


def broker(seconds: float, does: str, name: str = "b2") -> BrokerEvent:
    return BrokerEvent.model_validate({"at": seconds * 1000.0, "broker": name, "does": does})


def story(*events: Event, replicas: int | None = 1, handle: float = 0.0, **more: Any) -> Story:
    members = {name: {"handle": handle} for name in ("c1", "c2")}
    return Story(members=members, brokers=BROKERS, replicas=replicas, rate=2.0, events=events, **more)


def handled(seen: Observed) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for _, fact in seen.of(Delivered):
        found[fact.queue.number].update(range(fact.first, fact.end))
    return found


def when(seen: Observed, number: int) -> list[tuple[float, float]]:
    """From when to when records of a partition were handled, in seconds."""
    return [(fact.since / 1000, now / 1000) for now, fact in seen.of(Delivered) if fact.queue.number == number]


@rows("how", ["stop", "kill"])
def test_nothing_is_written_and_read_while_the_only_replica_is_down(how: str) -> None:
    lived = story(broker(60, how), broker(90, "return"))
    seen = lived.to_end(120)
    for number in range(6):
        expected = 180 if number in ON_B2 else 240
        assert handled(seen)[number] == set(range(expected))
        there = [each for each in when(seen, number) if each[0] < 90 and each[1] > 60]
        assert bool(there) == (number not in ON_B2)
    assert seen.generations() == [1]
    assert [len(fact.queues) for _, fact in seen.of(Owns)] == [3, 3]
    assert [text for text in seen.notes() if "waits" in text] == [
        "c1 waits for a leader of t-2",
        "c2 waits for a leader of t-3",
    ]


def test_both_replicas_down_and_the_last_one_has_to_come_back() -> None:
    events = broker(60, "stop"), broker(70, "stop", "b3"), broker(80, "return"), broker(100, "return", "b3")
    seen = story(*events, replicas=2).to_end(120)
    # b2's partitions have replicas on b2 and b3; those of b1 and b3 have one on b1, too.
    counts = {number: len(handled(seen)[number]) for number in range(6)}
    assert counts == {0: 240, 1: 240, 2: 180, 3: 180, 4: 240, 5: 240}
    assert all(len(of) == len(set(of)) for of in handled(seen).values())


def test_a_new_owner_waits_as_well_and_goes_on_where_the_other_stood() -> None:
    seen = story(broker(60, "stop"), Leave(at=70_000.0, leave="c1"), broker(90, "return")).to_end(120)
    (began,) = [fact for now, fact in seen.of(Position) if now > 60_000 and fact.queue.number == 2]
    assert (began.member, began.offset, began.why) == ("c2", 120, "committed")
    assert handled(seen)[2] == set(range(180))


def test_what_waits_is_read_on_only_with_a_leader() -> None:
    """A backlog of 500 records in each partition, handled in 100 s: b2's partitions wait meanwhile for 30 s."""
    events = Produce(at=30_000.0, produce={"t": 3000}), broker(60, "stop"), broker(90, "return")
    seen = story(*events, handle=50.0).to_end(400)
    assert not [each for each in when(seen, 2) if each[0] < 89.9 and each[1] > 60.1]
    assert handled(seen)[0] >= set(range(1200))
    assert handled(seen)[2] >= set(range(1100))
    assert sum(len(each) for each in handled(seen).values()) == sum(max(each) + 1 for each in handled(seen).values())


def test_what_is_sent_at_once_is_refused_without_a_leader() -> None:
    events = broker(60, "stop"), Produce(at=70_000.0, produce={"t": 60}), Poison(at=71_000.0, poison="t-3")
    seen = story(*events, broker(90, "return")).to_end(120)
    assert [len(handled(seen)[number]) for number in range(6)] == [250, 250, 180, 180, 250, 250]
    assert seen.of(StandsStill) == []


def test_offsets_of_a_time_without_a_leader_are_those_of_its_beginning() -> None:
    lived = story(
        broker(60, "stop"), broker(90, "return"), Reset(at=110_000.0, reset_offsets="g", topic="t", to=75_000.0)
    )
    lived.until(120)
    assert dict(lived.cluster.topics.offsets_at("t", 75_000.0))["t", 2] == 120
    assert dict(lived.cluster.topics.offsets_at("t", 100_000.0))["t", 2] == 140
