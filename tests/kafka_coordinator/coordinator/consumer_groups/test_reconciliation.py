"""NEXT(e) of the specification, row by row (6.4), and what holds whatever is asked."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.member import Goal, Standing, reconcile
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNRELEASED, UNREVOKED
from kafka_coordinator.versions import VERSIONS, Version


def of(*numbers: int) -> frozenset[Partition]:
    return frozenset(("t", number) for number in numbers)


NUMBERS = st.frozensets(st.integers(0, 5)).map(lambda numbers: of(*numbers))


@given(
    st.sampled_from([M_STABLE, UNREVOKED, UNRELEASED]),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.none() | NUMBERS,
    NUMBERS,
    st.sampled_from(list(VERSIONS.values())),
)
def test_nothing_is_given_that_another_has_and_nothing_new_before_all_is_given_up(
    state: str,
    assigned: frozenset[Partition],
    pending: frozenset[Partition],
    target: frozenset[Partition],
    owned: frozenset[Partition] | None,
    others: frozenset[Partition],
    version: Version,
) -> None:
    others -= assigned | pending
    before = Standing(3, 2, state, assigned, pending - assigned if state == UNREVOKED else of())
    held = others | before.assigned | before.pending
    after = reconcile(before, Goal(5, target, owned, lambda partitions: partitions - held, version, ("t",)))
    assert not after.assigned & others
    assert after == before or after.assigned <= target
    if after.pending:
        assert after.state == UNREVOKED
        assert after.assigned <= before.assigned
        assert after.epoch < 5
    elif after is not before:
        assert after.epoch == 5
        assert (after.state == M_STABLE) == (after.assigned == target)
