"""How a member's time goes to its partitions: by need, in one loop or in several threads."""

from typing import Any

from kafka_coordinator.consumer import states
from protocols.facts import Callback, Delivered
from protocols.scenario.events import Join, Produce
from tests.kafka_coordinator.kafka_stories import Observed, Story

HOT = {"t-0": 400.0}


def lived(seconds: float, **given: Any) -> Story:
    story = Story(topics={"t": 4}, brokers=("b1",), **given)
    story.until(seconds)
    story.cluster.finish()
    return story


def handled(story: Story) -> dict[int, int]:
    """Partition to the offset of what is handled next."""
    found: dict[int, int] = {}
    for _, fact in story.seen.of(Delivered):
        found[fact.queue.number] = max(found.get(fact.queue.number, 0), fact.end)
    return found


def one(handle: float, threads: int | None = None) -> dict[str, dict[str, Any]]:
    return {"c1": {"handle": handle, "threads": threads}}


def test_a_member_keeps_up_with_a_hot_partition_beside_idle_ones() -> None:
    """400/s and three times 1/s at 2 ms a record are 80.6 % of its time; an equal share would be 125/s each."""
    found = handled(lived(60.0, members=one(2.0), rate=1.0, rates=HOT))
    assert 400 * 60 - 2 <= found[0] <= 400 * 60
    assert [found[number] for number in (1, 2, 3)] == [60, 60, 60]


def test_partitions_that_are_behind_share_until_the_first_has_caught_up() -> None:
    """1000 and 3000 records at 2 ms: 250/s each for 4 s, then 500/s for the other for 4 s."""
    burst = Produce(at=20_000.0, produce={"t-0": 1000, "t-1": 3000})
    at = {seconds: handled(lived(seconds, members=one(2.0), events=[burst])) for seconds in (22.0, 24.0, 26.0, 28.1)}
    assert [(found[0], found[1]) for found in at.values()] == [(500, 500), (1000, 1000), (1000, 2000), (1000, 3000)]


def test_a_loop_with_threads_polls_again_when_all_are_done() -> None:
    """Ten records with four threads are three turns: a member that joins waits 3 s for the loop, not 10 or 2.5 s."""
    events = [Produce(at=20_000.0, produce={"t-0": 10}), Join(at=20_010.0, join="c2", subscribe=("t",))]
    story = lived(40.0, members=one(1000.0, 4), events=events)
    gives_up = min(now for now, fact in story.seen.of(Callback) if fact.member == "c1" and now > 20_000)
    assert 23_000 <= gives_up < 23_100


def test_shares_change_at_most_ten_times_a_second() -> None:
    class Timers(Observed):
        shared = 0

        def created(self, number: int, due: float, kind: int, node: str, what: object, cause: int) -> None:
            self.shared += what == states.SHARE

    events = [Produce(at=20_000.0 + 1000 * at, produce={f"t-{at % 4}": 50}) for at in range(20)]
    story = lived(60.0, members=one(2.0), rate=110.0, rates={"t-0": 160.0}, events=events, observer=Timers)
    assert isinstance(story.seen, Timers)
    assert story.seen.shared <= 20 * 4 + 4  # per burst no more than its partitions catch up
    assert handled(story)[1] >= 110 * 59
