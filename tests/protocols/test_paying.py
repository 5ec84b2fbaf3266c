"""Moves that pay: what is said to wait does wait, and a move is made only where it saves more than it costs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import QueueLoad, moves_that_pay
from protocols import Group, GroupError
from protocols.load_aware import Flows, pays
from protocols.load_aware.paying import CHANGES, Moving
from tools.loads.day import ASK_S, Contender, Seen, live
from tools.loads.families import Load

EVERYBODY = (0, 1)


def flows(rate: tuple[float, ...], lag: tuple[float, ...], owner: tuple[int, ...], off: float = 0.0) -> Flows:
    """``off``: of each rate, the standard deviation of what it may be."""
    takers, spread = [EVERYBODY] * len(rate), [off * each for each in rate]
    return Flows(rate, spread, lag, takers, owner, [100.0, 100.0], move_s=3.0, horizon_s=60.0)


@pytest.mark.parametrize(
    ("rate", "lag", "owner", "at"),
    [
        # Nothing waits.
        ((60.0, 40.0, 0.0), (0, 0, 0), (0, 0, 1), (0, 0, 1)),
        # The hot queue stays, light ones leave.
        ((80.0, 14.0, 14.0, 14.0, 60.0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 1), (0, 0, 1, 1, 1)),
        # All have too much to do.
        ((80.0, 40.0, 80.0, 41.0), (0, 0, 0, 0), (0, 0, 1, 1), (0, 0, 1, 1)),
        # It is gone soon.
        ((40.0, 10.0, 10.0), (60, 0, 0), (0, 0, 1), (0, 0, 1)),
        # A lag that one member alone would have for long.
        ((50.0, 45.0, 0.0), (600, 600, 0), (0, 0, 1), (0, 1, 1)),
    ],
)
def test_a_move_is_made_where_it_saves_more_than_it_costs(
    rate: tuple[float, ...], lag: tuple[float, ...], owner: tuple[int, ...], at: tuple[int, ...]
) -> None:
    found = pays(flows(rate, lag, owner))
    moved = sorted(each for each, before, after in zip(rate, owner, found, strict=True) if before != after)
    assert moved == sorted(each for each, before, after in zip(rate, owner, at, strict=True) if before != after)


@pytest.mark.parametrize(("other", "moves"), [(10.0, True), (85.0, False)])
def test_a_member_nearly_without_free_time_is_relieved_where_there_is_any(other: float, moves: bool) -> None:
    """Its queues need 97 % of its time on average, and nothing waits while they bring no more."""
    rate, owner = (60.0, 12.0, 12.0, 13.0, other), (0, 0, 0, 0, 1)
    assert pays(flows(rate, (0,) * 5, owner)) == owner
    assert (pays(flows(rate, (0,) * 5, owner, off=0.1)) != owner) is moves


@pytest.mark.parametrize("used", [0.6, 0.9])
def test_no_more_changes_are_weighed_than_some_seconds_allow(used: float) -> None:
    """1,000 queues by Zipf's law and 50 members, dealt out in turn: some have too much, and it helps them."""
    weights = [(number + 1) ** -0.7 for number in range(1000)]
    rate = tuple(used * 5000 * weight / sum(weights) for weight in weights)
    owner, everybody = tuple(number % 50 for number in range(1000)), tuple(range(50))
    many = Flows(
        rate, (0.0,) * 1000, (0.0,) * 1000, [everybody] * 1000, owner, [100.0] * 50, move_s=3.0, horizon_s=60.0
    )
    moving = Moving.of(many)
    moving.settle()
    assert 0 < moving.weighed <= CHANGES
    assert many.waits_in_all(moving.at) < 0.8 * many.waits_in_all(owner)


@st.composite
def groups(draw: st.DrawFn) -> Flows:
    size = draw(st.integers(1, 8))
    rates = st.sampled_from([1.0, 5.0, 14.0, 40.0, 80.0, 120.0])
    rate, owner = (
        tuple(draw(st.lists(each, min_size=size, max_size=size))) for each in (rates, st.sampled_from([0, 1]))
    )
    return flows(rate, (0.0,) * size, owner)


@settings(max_examples=25, deadline=None)
@given(groups())
def test_what_is_said_to_wait_is_what_waits_as_the_group_lives_on(given: Flows) -> None:
    """Beside the fluid of docs/load.md, second by second: before the moves, which are made after 15 s, and after."""
    seconds, seen_lag = 75, {}
    load = Load("made", "", (tuple(given.comes),) * seconds, (tuple(given.capacity),) * seconds)

    def ask(seen: Seen) -> tuple[int, ...]:
        if not seen.second:
            return tuple(given.owner)
        if seen.second == ASK_S:
            seen_lag[0] = seen.lag
        return pays(replace(given, lag=seen_lag[0]))

    lived = live(load, Contender(ask))
    now = replace(given, lag=seen_lag[0])
    at = pays(now)
    said = now.waits_in_all(at)
    # As the group lives on, what waits is counted at the end of each second.
    assert said == pytest.approx(sum(lived.lag[ASK_S:]), rel=0.1, abs=300)
    price = sum(now.prices()[member] for member, owner in zip(at, now.owner, strict=True) if member != owner)
    assert said + price <= now.waits_in_all(now.owner) + 1e-3


GROUP = Group.of({"orders": 4}, {"c1": ["orders"], "c2": ["orders"]})
LOADS = {queue: QueueLoad(8000 if queue.number == 0 else 1400, handle_s=0.01) for queue in GROUP.queues}


def test_the_door_has_names_of_members_and_places_what_nobody_owns() -> None:
    q = GROUP.queues
    found = moves_that_pay(GROUP, {"c1": q[:3]}, LOADS, capacity=100)
    assert found.allocation["c2"] == (q[1], q[3])
    assert (found.moved, found.waits_s > found.after_s) == (((q[1], "c2"),), True)
    with pytest.raises(GroupError, match="move_s is 0, expected a number above 0"):
        moves_that_pay(GROUP, {}, LOADS, capacity=1, move_s=0)
    with pytest.raises(GroupError, match="move_s is 3, expected no more than horizon_s, which is 2"):
        moves_that_pay(GROUP, {}, LOADS, capacity=1, move_s=3, horizon_s=2)
    with pytest.raises(GroupError, match="has no load"):
        moves_that_pay(GROUP, {}, {}, capacity=1)
