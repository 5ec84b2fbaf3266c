"""The sticky and cooperative-sticky assignors (spec 5.5 to 5.8): the spec's examples and the oddities worth a name."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata
from kafka_coordinator.assignors.sticky import cooperative_sticky, sticky
from tests.kafka_coordinator.consumer.metadata import group_of, owned, partitions_of

Assignor = Callable[[GroupMetadata], Assignment]
BOTH = pytest.mark.parametrize("assignor", [sticky, cooperative_sticky])


def _claiming(
    group: GroupMetadata, claims: Mapping[str, str], generations: Mapping[str, int] | int = 1
) -> GroupMetadata:
    """The group with claims written as `t0-1 t0-2`, all in one generation or each member's in its own."""

    def claimed(member_id: str) -> tuple[tuple[str, int], ...]:
        named = (each.rsplit("-", 1) for each in claims.get(member_id, "").split())
        return tuple((topic, int(number)) for topic, number in named)

    def generation(member_id: str) -> int | None:
        if isinstance(generations, int):
            return generations if member_id in claims else None
        return generations.get(member_id)

    return replace(
        group,
        members=tuple(
            member._replace(
                claims=claimed(member.member_id),
                claim_generation=generation(member.member_id),
                generation_field=generation(member.member_id),
            )
            for member in group.members
        ),
    )


def _named(group: GroupMetadata, answer: Assignment) -> dict[str, str]:
    """Member to its partitions, those that are gone among them, each as often as it is listed."""
    names = [f"{topic}-{number}" for topic, number in (*partitions_of(group), *answer.strays)]
    return {
        member.member_id: " ".join(sorted(names[number] for number in numbers))
        for member, numbers in zip(group.members, answer.owned, strict=True)
    }


def test_a_number_below_zero_comes_before_all_partitions_of_its_topic() -> None:
    group = group_of({"t": 2, "u": 2}, {"m1": "t", "m2": "t u"})
    claims = {"m1": (("t", 0), ("t", -1)), "m2": (("t", 1), ("u", 0), ("u", 1))}
    claimed = [m._replace(claims=claims[m.member_id], claim_generation=1, generation_field=1) for m in group.members]
    group = replace(group, members=tuple(claimed))
    # What the released 4.1.0 answers.
    assert _named(group, sticky(group)) == {"m1": "t--1 t-0 t-0 t-1", "m2": "t-1 u-0 u-1"}


def test_a_partition_that_one_member_claims_twice_after_another_is_nobodys() -> None:
    group = group_of({"t": 3, "u": 1}, {"m1": "t", "m2": "t u"})
    group = _claiming(group, {"m1": "t-0 t-1", "m2": "t-1 t-1 u-0"})
    older = tuple(m._replace(generation_field=-1) if m.member_id == "m2" else m for m in group.members)
    # What the released 4.1.0 answers: the second claim takes away what it adds.
    group = replace(group, members=older)
    assert _named(group, sticky(group)) == {"m1": "t-0 t-1", "m2": "t-2 u-0"}


@BOTH
def test_a_first_member_without_topics_is_given_partitions_all_the_same(assignor: Assignor) -> None:
    overlooked = group_of({"t0": 4}, {"C0": "", "C1": "t0"})
    assert owned(overlooked, assignor(overlooked)) == {"C0": "t0-0 t0-2", "C1": "t0-1 t0-3"}
    seen = group_of({"t0": 4}, {"C0": "t0", "C1": ""})
    assert owned(seen, assignor(seen)) == {"C0": "t0-0 t0-1 t0-2 t0-3", "C1": ""}


@BOTH
def test_a_former_owner_that_takes_no_part_crashes_the_released_assignor(assignor: Assignor) -> None:
    group = group_of({"t0": 3, "t1": 3}, {"C0": "t0 t1", "C1": "t0", "C2": ""})
    claims = {"C0": "t1-0 t1-1 t1-2 t0-0 t0-1", "C2": "t0-2"}
    assert assignor(_claiming(group, claims, {"C0": 3, "C2": 3})).owned
    with pytest.raises(AssignorError) as caught:
        assignor(_claiming(group, claims | {"C0": "t1-0 t1-1 t1-2 t0-0 t0-1 t0-2"}, {"C0": 4, "C2": 3}))
    assert caught.value.error == "NullPointerException"


def test_ids_are_compared_as_java_does() -> None:
    group = group_of({"t0": 1}, {"\U0001f600": "t0", "\ufb00": "t0", "\U0001f601": ""})
    assert owned(group, sticky(group))["\U0001f600"] == "t0-0"
