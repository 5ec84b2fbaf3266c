"""A reader's time goes to the queues that need it: max-min fairness, without waste."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.nodes import TICK
from protocols.load import SHORTEST_MS, Production, Reading, share, shared_anew


def queue(per_second: float, waiting: int = 0) -> tuple[int, Production]:
    """At 0 ms."""
    return 0, Production(per_second, 0.0, waiting)


def test_they_share_anew_when_the_first_has_caught_up_but_not_for_a_few_records() -> None:
    assert share(0.0, 2.0, 1, [queue(150, 100), queue(0, 900)]).until == 1000.0
    assert share(0.0, 2.0, 1, [queue(0, 2), queue(0, 900)]).until == SHORTEST_MS
    assert share(0.0, 2.0, 1, [queue(500, 90)]).until is None
    assert share(0.0, 2.0, 1, [queue(0, 1)]).until is None  # one record in hand is nothing to wait for


QUEUES = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 30.0, 90.0, 300.0]), st.integers(0, 400)), min_size=1, max_size=6
)


@given(QUEUES, st.sampled_from([1.0, 5.0, 16.0]), st.sampled_from([1, 3, 20]))
def test_nothing_is_wasted_while_anything_waits_and_shares_change_seldom(
    queues: list[tuple[float, int]], handle: float, threads: int
) -> None:
    productions = {number: Production(rate, 0.0, held) for number, (rate, held) in enumerate(queues)}
    readings = {number: Reading(0, 0.0, 0.0) for number in productions}
    now, end, changes = 0.0, 20_000.0, 0
    readings, until = shared_anew(now, handle, threads, readings, productions, goes_on=False)
    while until is not None and until <= end:
        now, changes = until, changes + 1
        readings = {number: each.moved_on(now, productions[number]) for number, each in readings.items()}
        readings, until = shared_anew(now, handle, threads, readings, productions, goes_on=True)
    handled = {number: each.position(end, productions[number]) for number, each in readings.items()}
    ends = {number: each.end_offset(end) for number, each in productions.items()}
    most = end / handle * threads
    # Per queue one turn may be under way, per change of shares the rest of 100 ms was somebody's who needed it not.
    slack = (2 * threads * len(queues) + changes * (SHORTEST_MS / handle * threads)) + most * TICK
    assert sum(handled.values()) >= min(most, sum(ends.values())) - slack
    assert sum(handled.values()) <= most + 2 * threads * len(queues) + most * TICK
    assert changes <= 3 * len(queues)
