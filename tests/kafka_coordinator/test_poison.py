"""A record that nobody's code can handle: the user's loop stands still on it (there is no retry in Kafka's client)."""

from typing import Any

import pytest

from protocols.facts import Committed, Delivered, PassedOver, StandsStill, TimedOut
from protocols.scenario.events import AddTopic, Crash, DeleteTopic, Event, Hang, Leave, Poison, Produce, StopPolling
from protocols.scenario.fields import TopicPart
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.rows import rows

QUICK = {"max.poll.interval.ms": 20_000}


def poison(seconds: float = 30, number: int = 0, **more: Any) -> Poison:
    return Poison(at=seconds * 1000.0, poison=f"t-{number}", **more)


def lived(*events: Event, handle: float = 0.0, rate: float = 2.0, seconds: float = 120, **more: Any) -> Observed:
    members = {name: {"handle": handle} for name in ("c1", "c2")}
    return Story(members=members, topics={"t": 4}, rate=rate, events=events, **more).to_end(seconds)


def handled(seen: Observed, number: int) -> list[tuple[str, int, int, float, float]]:
    """Who, first and end, from when to when in seconds."""
    return [
        (fact.member, fact.first, fact.end, fact.since / 1000, now / 1000)
        for now, fact in seen.of(Delivered)
        if fact.queue.number == number and fact.end > fact.first
    ]


def offsets(seen: Observed, number: int) -> set[int]:
    return {offset for _, first, end, _, _ in handled(seen, number) for offset in range(first, end)}


def stuck(seen: Observed) -> list[str]:
    return [fact.member for _, fact in seen.of(StandsStill)]


def test_the_loop_stands_still_with_all_its_partitions_until_the_attempts_are_used_up() -> None:
    seen = lived(poison(attempts=10))
    assert [(now, fact.offset, fact.why) for now, fact in seen.of(PassedOver)] == [
        (39_000.0, 60, "skipped after 10 attempts")
    ]
    for number in (0, 1):
        assert not [each for each in handled(seen, number) if 30 < each[4] < 39]
    assert [each for each in handled(seen, 2) if 30 < each[4] < 39]
    assert offsets(seen, 0) == set(range(241)) - {60}
    assert offsets(seen, 1) == set(range(240))
    committed = [(now, fact.offset) for now, fact in seen.of(Committed) if fact.queue.number == 0]
    # Nothing is committed without a poll, either: the last one was at 26 s.
    assert max(offset for now, offset in committed if now < 39_000) == 52
    assert committed[-1][1] > 200


def test_records_before_it_are_handled_first() -> None:
    """Five partitions' worth: the two that the member has share its time, 100 ms for each record of either."""
    seen = lived(poison(0.0, attempts=2), poison(10.0, attempts=2), handle=50.0)
    assert [fact.offset for _, fact in seen.of(PassedOver)] == [0, 21]
    assert offsets(seen, 0) >= set(range(200)) - {0, 21}


def reached(*events: Event, handle: float, threads: int | None = None, **more: Any) -> list[tuple[int, int, float]]:
    """One member comes to poison that is skipped at the first attempt: partition, offset, and when, in seconds."""
    members = {"c1": {"handle": handle, "threads": threads}}
    seen = Story(members=members, topics={"t": 4}, events=events, **more).to_end(60)
    return [(fact.queue.number, fact.offset, (now - handle) / 1000) for now, fact in seen.of(PassedOver)]


@rows(("records", "turns"), [(1000, 250), (1001, 251)])
def test_threads_come_to_it_when_all_before_it_are_done(records: int, turns: int) -> None:
    """Four records every 10 ms."""
    burst = Produce(at=20_000.0, produce={"t-0": records})
    assert reached(burst, poison(20, attempts=1), handle=10.0, threads=4) == [(0, records, 20 + turns * 0.01)]


def test_who_comes_back_too_late_cannot_commit_that_it_skipped_the_record() -> None:
    """31 attempts take longer than ``max.poll.interval.ms``: the record is skipped again and again, and in vain."""
    seen = lived(poison(attempts=31), settings=QUICK, seconds=300)
    assert stuck(seen)[:4] == ["c1", "c2", "c1", "c2"]
    assert [fact.offset for _, fact in seen.of(PassedOver)][:3] == [60, 60, 60]
    expired = {(fact.member, fact.setting, fact.limit, fact.why, fact.then) for _, fact in seen.of(TimedOut)}
    why = "the user's loop stands still on record 60 of t-0 for longer"
    assert expired == {(name, "max.poll.interval.ms", 20_000.0, why, "leaves the group") for name in ("c1", "c2")}
    assert max(fact.offset for _, fact in seen.of(Committed) if fact.queue.number == 0 and not fact.error) == 52


def test_for_ever_is_until_the_member_ends() -> None:
    seen = lived(poison(), Leave(at=60_000.0, leave="c1"), Crash(at=80_000.0, crash="c2"), seconds=200)
    assert stuck(seen) == ["c1", "c2"]
    assert offsets(seen, 0) == set(range(60))


@rows("pause", [Hang, StopPolling])
def test_attempts_are_not_made_while_the_code_is_stopped(pause: type[Event]) -> None:
    name = pause.kind_name()
    stopped = pause.model_validate({"at": 33_000.0, name: "c1", "for": 15_000.0})
    seen = lived(poison(attempts=10), stopped, handle=10.0)
    (passed,) = [now for now, _ in seen.of(PassedOver)]
    assert passed == pytest.approx(39_000 + 15_000 + 10 * 10, abs=30)


def test_a_topic_created_again_has_no_poison() -> None:
    again = AddTopic(at=60_000.0, add_topic={"t": TopicPart(queues={"b1": 4})})
    seen = lived(poison(10.0), DeleteTopic(at=30_000.0, delete_topic="t"), again, seconds=120)
    assert stuck(seen) == ["c1"]
    assert not [each for each in handled(seen, 0) if each[4] > 60]
    anew = lived(poison(10.0, attempts=2), DeleteTopic(at=30_000.0, delete_topic="t"), again, seconds=120)
    assert offsets(anew, 0) >= set(range(110))
