"""Records out of order, against a reference that looks at every pair of records."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import Queue
from protocols.engine.nodes import TICK
from protocols.facts import Delivered
from protocols.timeline.order import Keys, Move, OutOfOrder, Pace, out_of_order

Q = Queue("T", "", 0)


def of(first: int, end: int, since: float, until: float, *pace: float, member: str = "c1") -> Delivered:
    return Delivered("g", member, Q, first, end, since, until, *pace)  # type: ignore[arg-type]


def pairwise_reference(deliveries: Sequence[Delivered], period: int) -> OutOfOrder:
    """Every handling of every record against every other record."""
    handlings: dict[int, list[tuple[float, float]]] = {}
    for delivery in deliveries:
        pace = Pace.of(delivery)
        for offset in range(delivery.first, delivery.end):
            handlings.setdefault(offset, []).append((pace.began(offset), pace.ended(offset)))
    counts = []
    for keys in (1, period):
        count = 0
        for offset, times in handlings.items():
            others = {other for other in handlings if other != offset and other % keys == offset % keys}
            count += any(
                any(began < min(end for _, end in handlings[other]) - TICK / 2 for other in others if other < offset)
                or any(began > min(at for at, _ in handlings[other]) + TICK / 2 for other in others if other > offset)
                for began, _ in times
            )
        counts.append(count)
    return OutOfOrder(counts[0], counts[1])


@st.composite
def runs(draw: st.DrawFn) -> list[Delivered]:
    """Chains of deliveries of several members, which go back, overlap, and begin several records together."""
    made = []
    for member in range(draw(st.integers(1, 3))):
        offset, now = draw(st.integers(0, 20)), float(draw(st.integers(0, 200)))
        for _ in range(draw(st.integers(1, 4))):
            count, lasted = draw(st.integers(1, 12)), float(draw(st.integers(0, 60)))
            at_once = draw(st.sampled_from([1, 1, 2, 5, 20]))
            turn = draw(st.sampled_from([0.0, TICK, 3.0, 10.0]))
            each = draw(st.sampled_from([0.0, 3.0, 25.0])) if turn else 0.0
            made.append(of(offset, offset + count, now, now + lasted, at_once, turn, each, member=f"c{member}"))
            offset = max(0, offset + count - draw(st.sampled_from([0, 0, 0, 3])))
            now += draw(st.sampled_from([lasted, lasted, lasted + 5, lasted / 2]))
    return made


@settings(max_examples=300, deadline=None)
@given(runs(), st.integers(1, 4))
def test_counts_are_those_of_all_pairs(deliveries: list[Delivered], period: int) -> None:
    expected = pairwise_reference(deliveries, period)
    random.Random(1).shuffle(deliveries)
    assert out_of_order(deliveries, keys=Keys(lambda queue, offset: offset % period))[:2] == expected[:2]
    assert out_of_order(deliveries)[:2] == (expected.queue, None)


@settings(max_examples=300, deadline=None)
@given(runs(), runs(), st.tuples(st.integers(0, 30), st.integers(0, 30)), st.integers(1, 3))
def test_keys_that_go_elsewhere_are_compared_across_queues(
    ours: list[Delivered], others: list[Delivered], cuts: tuple[int, int], period: int
) -> None:
    queues = Q, Queue("T", "", 1)
    deliveries = [*ours, *(each._replace(queue=queues[1]) for each in others)]
    first = dict(zip(queues, cuts, strict=True))

    def key_of(queue: Queue, offset: int) -> int:
        # Before the move the first queue has the even keys, afterwards the odd ones.
        return 2 * (offset % period) + (queues.index(queue) ^ (offset >= first[queue]))

    handlings: dict[tuple[bool, Queue, int], list[tuple[float, float]]] = {}
    for each in deliveries:
        pace = Pace.of(each)
        for offset in range(each.first, each.end):
            place = offset >= first[each.queue], each.queue, offset
            handlings.setdefault(place, []).append((pace.began(offset), pace.ended(offset)))
    expected = 0
    for place, times in handlings.items():
        alike = [other for other in handlings if other != place and key_of(*other[1:]) == key_of(*place[1:])]
        done = [min(end for _, end in handlings[other]) for other in alike if other < place]
        begun = [min(at for at, _ in handlings[other]) for other in alike if other > place]
        late, early = max(done, default=-1.0) - TICK / 2, min(begun, default=1e9) + TICK / 2
        expected += any(began < late or began > early for began, _ in times)
    found = out_of_order(deliveries, keys=Keys(key_of, {"T": [Move(50.0, first)]}))
    assert found.key == expected
    assert found.queue == sum(out_of_order(each).queue for each in (ours, others))
    assert found.key - found.moved == out_of_order(deliveries, keys=Keys(key_of)).key


@pytest.mark.parametrize(
    ("deliveries", "expected"),
    [
        pytest.param([of(0, 10, 0, 100), of(10, 20, 100, 200)], 0, id="one after the other"),
        pytest.param([of(0, 10, 0, 100), of(5, 20, 200, 400)], 4, id="again after later ones, but for the last"),
        pytest.param([of(0, 20, 0, 20, 20)], 19, id="a pool begins twenty together"),
        pytest.param([of(0, 40, 0, 20, 20, 10.0, 10.0)], 38, id="two rows of twenty in a loop's threads"),
        pytest.param([of(0, 10, 0, 1000, 20, 10.0, 10.0)], 0, id="threads, but one record at a time"),
        pytest.param([of(0, 10, 0, 1000, 20, 10.0, 500.0)], 9, id="free hands, each longer than the next one's wait"),
        pytest.param([of(0, 2, 0, 25, 1, 10.0, 10.0), of(2, 4, 20, 45, 1, 10.0, 10.0)], 0, id="told in the midst"),
        pytest.param([of(10, 20, 0, 100), of(0, 5, 50, 200)], 15, id="before earlier ones, and after later ones"),
        pytest.param([of(0, 1, 0, 100), of(1, 2, 50, 150)], 1, id="begins while the one before is in hand"),
    ],
)
def test_what_counts(deliveries: list[Delivered], expected: int) -> None:
    assert out_of_order(deliveries).queue == expected
