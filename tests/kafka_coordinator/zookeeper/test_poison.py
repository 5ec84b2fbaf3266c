"""A record that nobody's code can handle, in 0.8: one loop stands still on it, and nobody takes its queues."""

from protocols.facts import Committed, Delivered, PassedOver, StandsStill
from protocols.scenario.events import Event, Hang, Leave, Poison, StopPolling
from tests.kafka_coordinator.zookeeper.zookeeper_story import Story
from tests.rows import rows


def stuck(story: Story) -> list[str]:
    return [told.fact.member for told in story.of(StandsStill)]


def handled(story: Story, number: int) -> set[int]:
    return {
        offset
        for told in story.of(Delivered)
        if told.fact.queue.number == number
        for offset in range(told.fact.first, told.fact.end)
    }


def test_the_loop_stands_still_until_the_attempts_are_used_up() -> None:
    story = Story(Poison(at=20_000.0, poison="t-0", attempts=11))
    assert [(told.at, told.fact.offset, told.fact.why) for told in story.of(PassedOver)] == [
        (30_000.0, 200, "skipped after 11 attempts")
    ]
    assert handled(story, 0) == set(range(601)) - {200}
    # What each of the partitions gets from 20 s on is handled from then on by those who do not stand still.
    since = {told.fact.queue.number: told.fact.since for told in story.of(Delivered) if told.fact.first in (200, 201)}
    assert since == {0: 30_000.0, 1: 30_000.0, **dict.fromkeys((2, 3, 4, 5), 20_000.0)}


def test_positions_go_past_it() -> None:
    story = Story(Poison(at=20_000.0, poison="t-0", attempts=11), auto_commit_interval_ms=5000)
    committed = [told.fact.offset for told in story.of(Committed, 20, 60) if told.fact.queue.number == 0]
    assert committed[:2] == [200, 200]
    assert committed[-1] > 500


def test_its_owner_keeps_what_it_has_however_long_it_takes() -> None:
    story = Story(Poison(at=20_000.0, poison="t-0"), seconds=400)
    assert stuck(story) == ["c1"]
    assert max(handled(story, 0)) == 199
    assert sorted(queue.number for queue in story.beliefs(400)["c1"]) == [0, 1]


def test_a_loop_that_is_rebalanced_meanwhile_tries_on() -> None:
    """Its client gives up and takes over queues by itself: what it reads afterwards waits, too."""
    story = Story(Poison(at=20_000.0, poison="t-0", attempts=21), Leave(at=25_000.0, leave="c3"))
    assert stuck(story) == ["c1"]
    assert [told.at for told in story.of(PassedOver)] == [40_000.0]
    assert handled(story, 0) == set(range(601)) - {200}


@rows("kind", [Hang, StopPolling])
def test_attempts_are_not_made_while_the_code_is_stopped(kind: type[Event]) -> None:
    stopped = kind.model_validate({"at": 22_000.0, kind.kind_name(): "c1", "for": 3_000.0})
    story = Story(Poison(at=20_000.0, poison="t-0", attempts=11), stopped)
    assert [told.at for told in story.of(PassedOver)] == [33_000.0]
