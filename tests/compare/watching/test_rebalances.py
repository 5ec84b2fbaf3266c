"""How many rebalances polls count: each where the source shows an epoch, else never more than there were."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from compare.reading.observed import ObservedGroup, ObservedMember
from compare.watching.changes import CALM_S, ChangeLog, Rebalances, StateReader
from protocols import Queue
from tests.compare.observed_groups import observed, partitions
from tests.rows import rows

SIX = partitions("orders", *range(6))


def polled(*polls: tuple[float, str | None, str, dict[str, int]]) -> Rebalances:
    """The count after polls: when, state, members (a letter each), and ``epoch``, ``generation`` or who reads
    (``owner``)."""
    counter, owner = Rebalances(), None
    for at, state, members, told in polls:
        group = ObservedGroup("kafka", "g", "shared", state, None, None, None)
        group = replace(group, epoch=told.get("epoch"), generation=told.get("generation"))
        moved = owner is not None and told.get("owner", owner) != owner
        owner = told.get("owner", owner)
        counter.take(group, frozenset(members) if members != "?" else None, moved, at)
    return counter


def loop(epoch: str | None) -> list[tuple[float, str | None, str, dict[str, int]]]:
    """A member that crashes each half minute for four minutes; polled each minute."""
    return [(60.0 * n, "Stable", "a" + "bcdefghij"[n], {epoch: 10 + 2 * n} if epoch else {}) for n in range(5)]


@rows(
    ("polls", "seen", "counted"),
    [
        (loop("epoch"), 8, 8),
        (loop("generation"), 8, None),
        (loop(None), 4, None),
        # One rebalance that several polls see begin, go on and end.
        (
            [
                (0, "Stable", "ab", {}),
                (5, "PreparingRebalance", "ab", {}),
                (10, "PreparingRebalance", "abc", {}),
                (15, "CompletingRebalance", "abc", {}),
                (20, "Stable", "abc", {"owner": 2}),
            ],
            1,
            None,
        ),
        (
            [
                (0, "Stable", "ab", {"owner": 1}),
                (5, "Reconciling", "ab", {"owner": 1}),
                (9, "Stable", "ab", {"owner": 2}),
            ],
            1,
            None,
        ),
        # It needs another one to come from the sync back to the joins, or to other members.
        ([(0, "CompletingRebalance", "ab", {}), (5, "PreparingRebalance", "ab", {})], 1, None),
        ([(0, "Reconciling", "ab", {}), (5, "Reconciling", "abc", {})], 1, None),
        # Where no state tells that it is over, queues may go on moving.
        ([(0, None, "ab", {"owner": 1}), (9, None, "abc", {"owner": 1}), (60, None, "abc", {"owner": 2})], 1, None),
        ([(0, None, "a", {"owner": 1}), (9, None, "ab", {}), (10 + CALM_S, None, "ab", {"owner": 2})], 2, None),
        # A storm in which every poll meets the joins: the generation tells them all as soon as it is shown.
        (
            [
                (0, "Stable", "ab", {"generation": 7}),
                (30, "PreparingRebalance", "ac", {}),
                (60, "PreparingRebalance", "ad", {}),
                (90, "Stable", "ae", {"generation": 19}),
            ],
            12,
            None,
        ),
        # The epoch is missing in a poll; what was seen then is not counted again.
        ([(0, "Stable", "ab", {"epoch": 3}), (5, "Stable", "abc", {}), (9, "Stable", "abc", {"epoch": 5})], 2, 2),
        # Made anew under its name: nobody knows how often.
        (
            [(0, "Stable", "ab", {"epoch": 30}), (5, "Stable", "cd", {"epoch": 2}), (9, "Stable", "cd", {"epoch": 3})],
            1,
            1,
        ),
        # Nothing is told.
        ([(0, None, "?", {}), (5, None, "?", {})], 0, None),
        ([(0, "Stable", "ab", {}), (5, "Stable", "?", {}), (9, "Stable", "ab", {})], 0, None),
    ],
)
def test_each_count_rests_on_a_rebalance_that_there_must_have_been(
    polls: Sequence[tuple[float, str | None, str, dict[str, int]]], seen: int, counted: int | None
) -> None:
    counter = polled(*polls)
    assert (counter.seen, counter.counted) == (seen, counted)


def test_a_lower_bound_is_one() -> None:
    """Against a classic group of Kafka, polled at any moments of its life."""
    for seed in range(300):
        draw = random.Random(seed)
        generation, joining, members, next_id = 1, False, {0}, 1
        shows, counter, base = draw.random() < 0.5, Rebalances(), None
        for step in range(60):
            if joining and draw.random() < 0.4:
                joining, generation = False, generation + 1
            elif draw.random() < 0.4:
                joining = True
                members.add(next_id)
                next_id += 1
                if draw.random() < 0.5 and len(members) > 1:
                    members.discard(draw.choice(sorted(members)))
            if draw.random() < 0.4:
                state = "PreparingRebalance" if joining else "Stable"
                group = ObservedGroup("kafka", "g", "shared", state, None, None, None)
                told = None if joining or not shows else generation
                counter.take(replace(group, generation=told), frozenset(map(str, members)), False, step * 10.0)
                base = generation if base is None else base
                assert counter.seen <= generation - base + joining
                if told is not None and shows:
                    assert counter.counted is None


def test_a_group_that_rebalances_is_not_judged_until_it_is_over() -> None:
    log, reader = ChangeLog(), StateReader()
    told = []
    for at, (owned, state) in enumerate(
        [
            ((SIX[:3], SIX[3:]), "Stable"),
            ((SIX[:4], ()), "PreparingRebalance"),
            ((SIX[:5], SIX[5:]), "CompletingRebalance"),
            ((SIX[:5], SIX[5:]), "Stable"),
        ]
    ):
        group = observed(dict(zip("ab", owned, strict=True)), "range", state=state)
        (seen,), changed = log.take(reader.take([group]), at * 30.0)
        told.append((seen.state.distance, seen.state.score is None, [each["worse"] for each in changed]))
    assert told[0] == (0, False, [])
    assert [each[:2] for each in told[1:3]] == [(None, True), (None, True)]
    assert not any(worse for _, _, every in told[:3] for worse in every)
    distance, is_unknown, (worse,) = told[3]
    assert (distance, is_unknown) == (2, False)
    assert worse["max_over_mean"] == [1.0, pytest.approx(5 / 3)]


def test_a_static_member_that_comes_back_is_the_same_and_nothing_has_moved() -> None:
    def group(*ids: str) -> ObservedGroup:
        made = observed(dict(zip(ids, (SIX[:3], SIX[3:]), strict=True)), "range", state="Stable")
        static = [ObservedMember(each.id, each.owned, instance_id=each.id.split("-")[0]) for each in made.members or ()]
        return replace(made, members=tuple(static))

    log, reader = ChangeLog(), StateReader()
    log.take(reader.take([group("i-1", "j-1")]), 0.0)
    (seen,), told = log.take(reader.take([group("i-2", "j-1")]), 30.0)
    assert (seen.moves, seen.joined, seen.left, seen.rebalances, told) == (0, (), (), 0, [])


def test_the_age_of_what_waits_is_told_once_it_was_written_in_sight() -> None:
    queue = Queue("orders", "", 0)

    def age(*polls: tuple[float, int, int]) -> tuple[float | None, float | None]:
        log, reader = ChangeLog(), StateReader()
        for at, committed, end in polls:
            group = observed({"a": (queue,)}, "range")
            (seen,), _ = log.take(reader.take([replace(group, lag={queue: end - committed}, ends={queue: end})]), at)
        return seen.waiting.age_s, seen.waiting.trend_per_s

    assert age((0, 5, 5)) == (0, None)
    assert age((0, 5, 9)) == (None, None), "written before anybody watched"
    # 10 records in each half minute, of which the reader has handled none since the 20th.
    assert age((0, 10, 10), (30, 20, 20), (60, 20, 30), (90, 20, 40)) == (
        90 - 33,
        pytest.approx(7 / 30),
    )
    assert age((0, 0, 0), (60, 0, 6), (120, 6, 6))[0] == 0, "all is read"
    other = Queue("orders", "", 1)
    led = observed({"a": (queue, other)}, "range")
    led = replace(led, lag={queue: 0, other: None}, ends={queue: 5})
    for endless, lag in ((), 0), ((other,), None):
        (seen,), _ = ChangeLog().take(StateReader().take([replace(led, endless=endless)]), 0)
        assert (seen.figures["lag"], seen.waiting.age_s) == (lag, lag), "of a partition without leader nothing is known"
    assert age((0, 50, 50), (60, 50, 90), (120, 3, 5)) == (None, pytest.approx(2 / 120)), "made anew"
