"""The story of the hot key: what one reader per queue means in both systems, and what threads change."""

import pytest

from compare.running.lag import lag_of, lag_peak
from compare.running.production import productions
from tests.compare.running.stories import lived

KAFKA = ("kafka:range", "kafka-zookeeper:range")
POOL, ONE_THREAD = "rocketmq:AVG, 20 threads", "rocketmq:AVG"
HANDLE_S = 0.02


def waiting(variant: str, seconds: float) -> dict[int, int]:
    """Number of the queue to how many of its records wait."""
    run = lived("hot-key", variant)
    return {each.queue.number: each.records for each in lag_of(run, productions(run), [seconds * 1000])}


def reader(variant: str, seconds: float) -> str:
    """Who owns the hot queue."""
    (found,) = {
        each.member
        for each in lived("hot-key", variant).timeline.beliefs
        if each.queue.topic == "orders" and each.queue.number == 0
        if each.since <= seconds * 1000 < (float("inf") if each.until is None else each.until)
    }
    return found


@pytest.mark.parametrize("variant", [*KAFKA, ONE_THREAD])
def test_one_loop_or_one_thread_falls_behind_on_the_hot_queue_alone(variant: str) -> None:
    before, after = waiting(variant, 30), waiting(variant, 55)
    # 80/s come, three other queues of c1 take 6/s of its 50/s.
    assert after[0] - before[0] == pytest.approx(25 * (80 - (1 / HANDLE_S - 6)), rel=0.06)
    assert all(after[number] <= 3 for number in (4, 5, 6, 7))


@pytest.mark.parametrize(("variant", "seconds"), [*((each, 30) for each in KAFKA), (ONE_THREAD, 30)])
def test_eight_threads_drain_what_waits(variant: str, seconds: float) -> None:
    assert reader(variant, 170) == "c0"
    assert waiting(variant, 149)[0] > 4_500
    assert waiting(variant, 150 + seconds)[0] <= 8


def test_the_pool_of_one_member_keeps_up_with_one_reader_of_the_queue() -> None:
    assert [reader(POOL, seconds) for seconds in (55, 145, 170)] == ["c1", "c1", "c0"]
    for seconds in (30, 55, 80, 145, 170, 230):
        assert max(waiting(POOL, seconds).values()) <= 8
    run = lived("hot-key", POOL)
    found = lag_peak(run, productions(run))
    assert found is not None
    assert found.peak < 200  # while the queue changes hands
