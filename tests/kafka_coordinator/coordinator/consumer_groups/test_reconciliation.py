"""NEXT(e) of the specification, row by row (6.4), and what holds whatever is asked."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.member import Standing, reconcile
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNRELEASED, UNREVOKED
from tests.rows import rows


def of(*numbers: int) -> frozenset[Partition]:
    return frozenset(("t", number) for number in numbers)


STABLE = Standing(3, 2, M_STABLE, of(0, 1))
TO_REVOKE = Standing(3, 3, UNREVOKED, of(0), of(1))
WAITING = Standing(5, 3, UNRELEASED, of(0))


@rows(
    ("before", "target", "owned", "held_by_others", "after"),
    [
        # At the target epoch: nothing, whatever the target is.
        (STABLE._replace(epoch=5), of(2), None, of(), STABLE._replace(epoch=5)),
        # 1. Something to revoke: the epoch stays.
        (STABLE, of(0), None, of(), Standing(3, 3, UNREVOKED, of(0), of(1))),
        (STABLE, of(0), of(0, 1), of(), Standing(3, 3, UNREVOKED, of(0), of(1))),
        # ... unless the member does not own it anyway.
        (STABLE, of(0), of(0), of(), Standing(5, 3, M_STABLE, of(0))),
        # 2. Something new is free: the target epoch, and the rest is waited for.
        (STABLE, of(0, 1, 2), None, of(), Standing(5, 3, M_STABLE, of(0, 1, 2))),
        (STABLE, of(0, 1, 2, 3), None, of(3), Standing(5, 3, UNRELEASED, of(0, 1, 2))),
        # 3. Nothing is free.
        (STABLE, of(0, 1, 3), None, of(3), Standing(5, 3, UNRELEASED, of(0, 1))),
        # 4. The same as before.
        (STABLE, of(0, 1), None, of(), Standing(5, 3, M_STABLE, of(0, 1))),
        # Unrevoked: as long as the member does not say that it has given up, nothing.
        (TO_REVOKE, of(0), None, of(), TO_REVOKE),
        (TO_REVOKE, of(0), of(0, 1), of(), TO_REVOKE),
        (TO_REVOKE, of(0), of(0), of(), Standing(5, 3, M_STABLE, of(0))),
        # The target has moved meanwhile: more is to be revoked, at least one epoch further.
        (TO_REVOKE, of(7), of(0), of(), Standing(4, 3, UNREVOKED, of(), of(0))),
        # A partition that it gave up and shall have again is still held by it now.
        (TO_REVOKE, of(0, 1), of(0), of(1), Standing(5, 3, UNRELEASED, of(0))),
        # Unreleased: it asks again, and what has become free is its.
        (WAITING, of(0, 4), None, of(4), Standing(5, 5, UNRELEASED, of(0))),
        (WAITING, of(0, 4), None, of(), Standing(5, 5, M_STABLE, of(0, 4))),
    ],
)
def test_next(
    before: Standing,
    target: frozenset[Partition],
    owned: frozenset[Partition] | None,
    held_by_others: frozenset[Partition],
    after: Standing,
) -> None:
    held = held_by_others | before.assigned | before.pending
    assert reconcile(before, 5, target, owned, lambda partition: partition not in held) == after


NUMBERS = st.frozensets(st.integers(0, 5)).map(lambda numbers: of(*numbers))


@given(
    st.sampled_from([M_STABLE, UNREVOKED, UNRELEASED]),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.none() | NUMBERS,
    NUMBERS,
)
def test_nothing_is_given_that_another_has_and_nothing_new_before_all_is_given_up(
    state: str,
    assigned: frozenset[Partition],
    pending: frozenset[Partition],
    target: frozenset[Partition],
    owned: frozenset[Partition] | None,
    others: frozenset[Partition],
) -> None:
    others -= assigned | pending
    before = Standing(3, 2, state, assigned, pending - assigned if state == UNREVOKED else of())
    held = others | before.assigned | before.pending
    after = reconcile(before, 5, target, owned, lambda partition: partition not in held)
    assert not after.assigned & others
    assert after == before or after.assigned <= target
    if after.pending:
        assert after.state == UNREVOKED
        assert after.assigned <= before.assigned
        assert after.epoch < 5
    elif after is not before:
        assert after.epoch == 5
        assert (after.state == M_STABLE) == (after.assigned == target)
