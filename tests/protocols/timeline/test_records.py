"""Records that are given out one by one: their lives from facts made by hand, and what can never be."""

from random import Random

import pytest

from protocols.facts import Acquired, Available, Committed, Delivered, Ended, Renewed
from protocols.timeline import InvariantError
from protocols.timeline.records import hidden_over_time, redeliveries
from protocols.timeline.rows import COLUMNS, rows
from protocols.timeline.story import story
from tests.protocols.timeline.timeline_made import A, B, recorded

GIVEN = Acquired("g", "c1", A, 0, 10, 1, 30_000.0)
"""Ten records of a queue, for the first time."""


def test_a_record_comes_back_and_its_life_is_told() -> None:
    timeline = recorded(
        [
            (0.0, GIVEN),
            (100.0, Acquired("g", "c2", B, 5, 6, 1, 60_000.0)),
            (1_000.0, Ended("g", "c1", A, 0, 4, "acknowledged")),
            (2_000.0, Ended("g", "c1", A, 5, 10, "acknowledged")),
            (29_000.0, Renewed("g", "c2", B, 5, 6, 90_000.0)),
            (30_000.0, Available("g", "c1", A, 4, 5, "lock timeout")),
            (30_500.0, Acquired("g", "c2", A, 4, 5, 2, 60_500.0)),
            (31_000.0, Ended("g", "c2", A, 4, 5, "archived")),
        ],
        40_000,
    )
    lives = [(each.queue, each.first, each.end, each.attempt, each.until, each.fate) for each in timeline.given]
    assert lives == [
        (A, 0, 4, 1, 1_000, "acknowledged"),
        (A, 5, 10, 1, 2_000, "acknowledged"),
        (A, 4, 5, 1, 30_000, "lock timeout"),
        (B, 5, 6, 1, None, ""),
        (A, 4, 5, 2, 31_000, "archived"),
    ]
    assert (timeline.given[3].due, timeline.given[3].renewed) == (90_000, 1)
    assert timeline.times_given == {1: 10, 2: 1}
    assert redeliveries(timeline.times_given) == 1
    assert timeline.ended_how == {"acknowledged": 9, "archived": 1}
    steps = [(0.0, 10), (100.0, 11), (1_000.0, 7), (2_000.0, 2), (30_000.0, 1), (30_500.0, 2), (31_000.0, 1)]
    assert list(hidden_over_time(timeline.given)) == steps
    assert [len(row) for row in rows(timeline, "given")] == [len(COLUMNS["given"])] * 5
    assert [line[13:] for line in story(timeline).splitlines()] == [
        "the scenario begins",
        "record 4 of T-0, given to c1, can be given out again: lock timeout",
        "c2 is given record 4 of T-0 (attempt 2), hidden until 60.5s",
        "record 4 of T-0, which c2 had, is archived: nobody gets it",
        "the run ends",
    ]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Acquired("g", "c2", A, 9, 12, 1, 9_000.0), "c1 has T-0 2 to 9"),
        (Acquired("g", "c1", A, 2, 3, 2, 9_000.0), "c1 has T-0 2 to 9"),
        (Acquired("g", "c2", A, 1, 2, 2, 9_000.0), "one of them has ended"),
        (Renewed("g", "c2", A, 2, 3, 9_000.0), "c1 has T-0 2 to 2"),
        (Renewed("g", "c1", A, 9, 11, 9_000.0), "nobody has one of them"),
        (Available("g", "c1", A, 0, 3, "released"), "nobody has one of them"),
        (Ended("g", "c2", A, 4, 6, "acknowledged"), "c1 has T-0 4 to 5"),
        (Ended("g", "c1", A, 0, 1, "archived"), "one of them has ended before"),
        (Ended("g", "c1", A, 20, 21, "acknowledged"), "nobody has one of them"),
    ],
)
def test_what_can_never_be_raises(wrong: Acquired | Renewed | Available | Ended, why: str) -> None:
    begun = [(0.0, GIVEN), (1.0, Ended("g", "c1", A, 0, 2, "acknowledged"))]
    recorded(begun, 1)
    with pytest.raises(InvariantError, match=why):
        recorded([*begun, (2.0, wrong)], 2)


def test_what_may_be_does_not_raise() -> None:
    begun = [(0.0, GIVEN), (1.0, Ended("g", "c1", A, 0, 2, "acknowledged"))]
    late = Delivered("g", "c2", A, 0, 2, 0.0, 2.0)
    archived_by_the_log = Ended("g", None, A, 2, 20, "archived")
    recorded([*begun, (2.0, late), (3.0, archived_by_the_log)], 3)
    other_group = GIVEN._replace(group="h", member="c2")
    recorded([*begun, (2.0, other_group)], 2)
    back = Committed("g", A, 1, None, None, "")
    again = recorded([*begun, (2.0, back), (3.0, GIVEN._replace(first=1, member="c2"))], 3)
    assert again.times_given == {1: 1, 2: 9}


def test_ranges_are_cut_as_if_each_record_stood_alone() -> None:
    random = Random(7)
    facts: list[tuple[float, Acquired | Available | Ended]] = []
    holders: dict[int, str] = {}
    gone: set[int] = set()
    often: dict[int, int] = {}
    for now in range(3_000):
        first = random.randrange(60)
        span = range(first, first + random.randrange(1, 9))
        if all(offset not in holders and offset not in gone for offset in span):
            member = random.choice(("c1", "c2"))
            facts.append((now, Acquired("g", member, A, span.start, span.stop, 1, now + 9.0)))
            holders.update(dict.fromkeys(span, member))
            often.update({offset: often.get(offset, 0) + 1 for offset in span})
        elif len(members := {holders.get(offset) for offset in span}) == 1 and (member := members.pop() or ""):
            if random.random() < 0.05:
                facts.append((now, Ended("g", member, A, span.start, span.stop, "acknowledged")))
                gone.update(span)
            else:
                facts.append((now, Available("g", member, A, span.start, span.stop, "released")))
            for offset in span:
                del holders[offset]
    timeline = recorded(facts, 3_000)
    counts = list(often.values())
    assert timeline.times_given == {times: counts.count(times) for times in sorted(set(counts))}
    still = {offset for each in timeline.given if each.until is None for offset in range(each.first, each.end)}
    assert still == set(holders)
    assert timeline.ended_how == {"acknowledged": len(gone)}
