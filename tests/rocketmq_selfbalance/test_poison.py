"""A record that nobody's code can handle, in RocketMQ (spec 6.5 to 6.7)."""

from typing import Any

import pytest

from protocols.facts import Delivered, PassedOver, StandsStill
from protocols.java import Queue
from rocketmq_selfbalance.codes import DLQ_PREFIX
from tests.rocketmq_selfbalance.lived import Lived
from tests.rocketmq_selfbalance.test_quiet_clusters import assert_equal
from tests.rows import rows

TOPICS = {"T": {"broker-a": 2, "broker-b": 2}}
POISONED = Queue("T", "broker-a", 1)


def lived(
    *events: dict[str, Any], handle: float = 0.0, produce: float = 2.0, seconds: float = 120, **more: Any
) -> Lived:
    members = {name: {"subscribe": ("T",), "handle": handle} for name in ("c1", "c2")}
    return Lived(TOPICS, members, *events, seconds=seconds, produce=produce, **more)


def poison(seconds: float = 30, **more: Any) -> dict[str, Any]:
    return {"at": seconds * 1000.0, "poison": "T-1", **more}


def passed(of: Lived) -> list[tuple[float, str, int, str]]:
    """In whole seconds since the record was written at 30 s, topic, offset and why."""
    return [(round(at - 30), fact.queue.topic, fact.offset, fact.why) for at, _, fact in of.told(PassedOver)]


def handled(of: Lived, queue: Queue = POISONED) -> set[int]:
    return {
        offset for _, _, fact in of.told(Delivered) if fact.queue == queue for offset in range(fact.first, fact.end)
    }


def dead(of: Lived) -> list[tuple[Queue, int]]:
    found = of.broker("broker-a").disk.store.queue(DLQ_PREFIX + "g", 0)
    return [] if found is None else [(each.origin, each.origin_offset) for each in found.records]


@rows("handle", [0.0, 20.0])
def test_only_the_record_itself_is_late_and_ends_among_the_dead_letters(handle: float) -> None:
    of = lived(poison(), handle=handle, settings={"maxReconsumeTimes": 2})
    back = "given back to its broker"
    assert passed(of) == [(0, "T", 60, back), (10, "%RETRY%g", 0, back), (40, "%RETRY%g", 1, back)]
    assert dead(of) == [(POISONED, 60)]
    assert set(range(239)) - handled(of) == {60}
    assert handled(of, Queue("%RETRY%g", "broker-a", 0)) == set()
    committed = of.broker("broker-a").offsets.query("g", "T", 1)
    assert committed >= 228


@rows(("attempts", "at"), [(1, 0), (2, 10), (3, 40), (4, 100)])
def test_the_code_skips_it_at_the_last_of_its_attempts(attempts: int, at: int) -> None:
    of = lived(poison(attempts=attempts), seconds=160)
    skipped = f"skipped after {attempts} attempt{'' if attempts == 1 else 's'}"
    assert (passed(of)[-1][0], passed(of)[-1][3]) == (at, skipped)
    assert len(passed(of)) == attempts
    assert dead(of) == []


def test_by_default_it_comes_sixteen_times_again() -> None:
    waits = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
    of = lived(poison(), produce=0.0, seconds=30 + sum(waits) + 10)
    assert [at for at, *_ in passed(of)] == [sum(waits[:number]) for number in range(17)]
    assert dead(of) == [(POISONED, 0)]


def test_a_member_that_joins_later_cannot_handle_it_either() -> None:
    crash, join = {"at": 31_000.0, "crash": "c1"}, {"at": 32_000.0, "join": "c3", "subscribe": ("T",)}
    of = lived(poison(), crash, join, {"at": 33_000.0, "crash": "c2"}, seconds=200)
    assert {fact.member for _, _, fact in of.told(PassedOver)} > {"c3"}
    assert 60 not in handled(of)


def test_an_ordered_queue_stands_still_for_ever_and_no_other_does() -> None:
    of = lived(poison(), settings={"orderly": True})
    assert passed(of) == []
    assert [fact for _, _, fact in of.told(StandsStill)] == [StandsStill("g", "c1", POISONED, 60)]
    assert handled(of) == set(range(60))
    assert len(handled(of, Queue("T", "broker-a", 0))) > 230
    assert of.broker("broker-a").offsets.query("g", "T", 1) == 60


def test_a_change_of_owner_moves_the_block() -> None:
    of = lived(poison(), {"at": 60_000.0, "leave": "c1"}, settings={"orderly": True})
    assert [fact.member for _, _, fact in of.told(StandsStill)] == ["c1", "c2"]
    assert handled(of) == set(range(60))


@rows(("attempts", "most", "dies"), [(4, -1, False), (3, 5, False), (9, 2, True), (None, 2, True)])
def test_an_ordered_queue_is_tried_once_a_second_until_one_of_the_limits(
    attempts: int | None, most: int, dies: bool
) -> None:
    of = lived(poison(attempts=attempts), settings={"orderly": True, "maxReconsumeTimes": most})
    tries = 3 if dies else attempts
    assert tries is not None
    why = "given back to its broker" if dies else f"skipped after {attempts} attempts"
    assert passed(of) == [(tries - 1, "T", 60, why)]
    assert dead(of) == ([(POISONED, 60)] if dies else [])
    assert set(range(239)) - handled(of) == {60}


def test_a_pull_consumers_loop_stands_still_with_all_its_queues_and_keeps_them() -> None:
    of = lived(poison(attempts=21, pause=2000.0), settings={"consumer": "lite_pull"})
    assert passed(of) == [(40, "T", 60, "skipped after 21 attempts")]
    other = [
        (at, fact.first)
        for at, _, fact in of.told(Delivered)
        if fact.queue == Queue("T", "broker-a", 0) and fact.end > 62
    ]
    assert other[0][0] == pytest.approx(70, abs=0.1)
    assert set(range(239)) - handled(of) == {60}
    for_ever = lived(poison(), settings={"consumer": "lite_pull"})
    assert handled(for_ever) == set(range(60))
    assert len(handled(for_ever, Queue("T", "broker-b", 0))) > 230


def test_the_threads_of_a_pull_consumers_loop_handle_what_comes_before_it_at_once() -> None:
    """Ten records with four threads are three turns of 100 ms, then three attempts."""
    burst = {"at": 30_000.0, "produce": {"T-broker-a-1": 9}}
    members = {"c1": {"subscribe": ("T",), "handle": 100.0, "threads": 4}}
    of = Lived(TOPICS, members, burst, poison(attempts=3), seconds=60, settings={"consumer": "lite_pull"})
    ((at, _, fact),) = of.told(PassedOver)
    assert fact.offset == 9
    assert at == pytest.approx(30 + 3 * 0.1 + 3 * 0.1 + 2 * 1.0, abs=0.05)


def test_in_a_broadcasting_group_everybody_drops_it() -> None:
    of = lived(poison(), settings={"messageModel": "BROADCASTING"})
    dropped = {(fact.member, fact.offset, fact.why.split(",")[0]) for _, _, fact in of.told(PassedOver)}
    assert dropped == {("c1", 60, "dropped"), ("c2", 60, "dropped")}


def test_the_records_of_a_topic_created_again_are_others() -> None:
    again = {"at": 60_000.0, "add_topic": {"T": {"queues": {"broker-a": 2, "broker-b": 2}}}}
    of = lived(poison(10), {"at": 40_000.0, "delete_topic": "T"}, again, seconds=200)
    since = {offset for at, _, fact in of.told(Delivered) if at > 60 for offset in range(fact.first, fact.end)}
    assert {19, 20, 21} < since


def test_nothing_is_written_while_the_broker_is_down() -> None:
    of = lived({"at": 20_000.0, "broker": "broker-a", "does": "stop"}, poison())
    assert passed(of) == []


@rows(
    ("settings", "attempts"),
    [
        ({}, None),
        ({}, 3),
        ({"orderly": True}, 3),
        ({"consumer": "lite_pull"}, None),
        ({"messageModel": "BROADCASTING"}, 3),
    ],
)
def test_full_and_skipping_runs_tell_the_same(settings: dict[str, Any], attempts: int | None) -> None:
    """Without load, and with load the same records are handled and passed over."""
    events = (poison(attempts=attempts), poison(60, attempts=attempts), {"at": 80_000.0, "leave": "c2"})
    quick, full = (lived(*events, produce=0.0, seconds=300, settings=settings, full=full) for full in (False, True))
    assert_equal(quick, full)
    quick, full = (lived(*events, seconds=300, settings=settings, full=full) for full in (False, True))
    assert passed(quick) == passed(full)
    for number in range(2):
        for broker in ("broker-a", "broker-b"):
            assert handled(quick, Queue("T", broker, number)) == handled(full, Queue("T", broker, number))
            offsets = [of.broker(broker).offsets.query("g", "T", number) for of in (quick, full)]
            assert offsets[0] == offsets[1]
