"""Sets of offsets, against Python's sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.offsets import OffsetSet

RANGES = st.tuples(st.integers(0, 30), st.integers(0, 30))
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove"]), RANGES), max_size=20)


def textbook(steps: list[tuple[str, tuple[int, int]]]) -> tuple[OffsetSet, set[int]]:
    ours, plain = OffsetSet(), set[int]()
    for step, (first, end) in steps:
        offsets = set(range(first, end))
        if step == "add":
            assert ours.add(first, end) == len(offsets - plain)
            plain |= offsets
        else:
            assert ours.remove(first, end) == len(offsets & plain)
            plain -= offsets
    return ours, plain


@given(STEPS)
def test_it_holds_what_a_set_holds(steps: list[tuple[str, tuple[int, int]]]) -> None:
    ours, plain = textbook(steps)
    assert {offset for first, end in ours.ranges() for offset in range(first, end)} == plain
    assert all((offset in ours) == (offset in plain) for offset in range(-1, 32))
    assert len(ours) == len(plain)
    assert bool(ours) == bool(plain)
    if plain:
        assert (ours.first, ours.end - 1) == (min(plain), max(plain))
        assert ours.first_range() == ours.ranges()[0]


@given(STEPS)
def test_ranges_are_in_order_and_never_touch(steps: list[tuple[str, tuple[int, int]]]) -> None:
    ours, plain = textbook(steps)
    bounds = [bound for each in ours.ranges() for bound in each]
    assert bounds == sorted(set(bounds))
    assert ours == OffsetSet((offset, offset + 1) for offset in sorted(plain, reverse=True))


@given(STEPS, RANGES)
def test_questions_about_a_part_of_it(steps: list[tuple[str, tuple[int, int]]], part: tuple[int, int]) -> None:
    ours, plain = textbook(steps)
    first, end = part
    missing = [offset for offset in range(first, end) if offset not in plain]
    assert ours.count(first, end) == max(end - first, 0) - len(missing)
    assert [offset for begin, stop in ours.gaps(first, end) for offset in range(begin, stop)] == missing
    assert ours.last_missing(first, end) == (missing[-1] if missing else None)
    assert ours.next_missing(first) == next(offset for offset in range(first, 40) if offset not in plain)


@given(STEPS, STEPS)
def test_the_union_counts_what_is_new_and_copies_are_independent(one: list, other: list) -> None:
    (ours, plain), (theirs, others) = textbook(one), textbook(other)
    union = ours.copy()
    assert union.update(theirs.ranges()) == len(others - plain)
    assert len(union) == len(plain | others)
    assert len(ours) == len(plain)


def test_size_does_not_matter() -> None:
    ours = OffsetSet([(0, 10**15)])
    assert ours.remove(10**9, 10**9 + 1) == 1
    assert ours.ranges() == ((0, 10**9), (10**9 + 1, 10**15))
    assert repr(OffsetSet([(3, 5), (1, 2)])) == "OffsetSet([(1, 2), (3, 5)])"


def test_an_empty_set_has_no_ends() -> None:
    with pytest.raises(IndexError):
        _ = OffsetSet().first
    with pytest.raises(IndexError):
        _ = OffsetSet([(2, 2)]).end
