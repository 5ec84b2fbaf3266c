"""The score and its weights."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compare.auditing.score import DOUBLE_OWNED, HEAVIEST, IDLE, MISPLACED, UNOWNED, points_lost, score
from compare.optima import optimum
from kafka_coordinator import assign
from protocols import Allocation, Group

OWNERS = st.lists(st.sets(st.sampled_from(["x", "y", "z"])), min_size=4, max_size=4)


def test_the_weights_add_up_to_100() -> None:
    assert HEAVIEST + MISPLACED + IDLE + UNOWNED + DOUBLE_OWNED == 100


def test_a_pile_up_costs_distance_and_idle_members() -> None:
    group = Group.of({f"t{n}": 1 for n in range(10)}, {f"c{n}": [f"t{n}" for n in range(10)] for n in range(4)})
    lost = points_lost(assign("range", group))
    # 10/0/0/0 where 3/3/2/2 is possible.
    assert lost.heaviest == HEAVIEST * (1 - 3 / 10)
    assert lost.misplaced == MISPLACED * 7 / 10
    assert lost.idle == IDLE * 3 / 4
    assert lost.unowned == lost.double_owned == 0


def test_members_that_nobody_could_employ_cost_as_well() -> None:
    group = Group.of({"t": 1}, {f"c{n}": ["t"] for n in range(8)})
    # Seven idle of eight is no 100, although no allocation could employ them.
    assert score(assign("range", group)) == 100 - IDLE * 7 / 8


@given(OWNERS, st.lists(st.sets(st.sampled_from("ab")), min_size=3, max_size=3))
@settings(max_examples=100, deadline=None)
def test_it_lies_between_0_and_100_and_the_optimum_loses_only_what_nobody_can_employ(
    owners: list[set[str]], subscriptions: list[set[str]]
) -> None:
    group = Group.of({"a": 2, "b": 2}, dict(zip("xyz", map(sorted, subscriptions), strict=True)))
    owned = {id: [q for q, who in zip(group.queues, owners, strict=True) if id in who] for id in "xyz"}
    assert 0 <= score(Allocation(group, owned)) <= 100
    best = optimum(group)
    assert score(best.allocation) == 100 - IDLE * (best.idle_members or 0) / 3
