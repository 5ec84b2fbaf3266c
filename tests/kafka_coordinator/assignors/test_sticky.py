"""The sticky and cooperative-sticky assignors (spec 5.5 to 5.8): the spec's examples and the oddities worth a name."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata
from kafka_coordinator.assignors.sticky import cooperative_sticky, sticky
from tests.kafka_coordinator.consumer.metadata import group_of, owned, partitions_of
from tests.rows import rows

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
            replace(
                member,
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


def _withheld(group: GroupMetadata, answer: Assignment) -> dict[str, str]:
    names = [f"{topic}-{number}" for topic, number in partitions_of(group)]
    return {names[number]: group.members[position].member_id for number, position in answer.withheld.items()}


THREE_BY_TWO = group_of({"t0": 2, "t1": 2, "t2": 2}, dict.fromkeys(("C0", "C1", "C2"), "t0 t1 t2"))


@BOTH
def test_new_members_take_partitions_in_turn(assignor: Assignor) -> None:
    answer = assignor(THREE_BY_TWO)
    assert owned(THREE_BY_TWO, answer) == {"C0": "t0-0 t1-1", "C1": "t0-1 t2-0", "C2": "t1-0 t2-1"}
    assert answer.withheld == {}


@BOTH
def test_what_a_leaver_had_goes_to_the_others_at_once(assignor: Assignor) -> None:
    group = group_of(THREE_BY_TWO.topics, dict.fromkeys(("C0", "C2"), "t0 t1 t2"))
    group = _claiming(group, {"C0": "t0-0 t1-1", "C2": "t1-0 t2-1"})
    answer = assignor(group)
    assert owned(group, answer) == {"C0": "t0-0 t0-1 t1-1", "C2": "t1-0 t2-0 t2-1"}
    assert answer.withheld == {}


@BOTH
@rows(
    ("topics", "claims", "given"),
    [
        ({"t": 3}, {"m1": "t-5", "m2": "t-1"}, {"m1": "t-0 t-5", "m2": "t-1 t-2"}),
        ({"t": 3}, {"m1": "t-0 t-1 t-2 t-3 t-4 t-5"}, {"m1": "t-0 t-1", "m2": "t-2"}),
        ({"t": 3}, {"m1": "t-0 t-5", "m2": "t-1"}, "IllegalStateException"),
        ({"t": 2, "u": 3}, {"m1": "t-0 t-5 u-0", "m2": "t-1 u-1 u-2"}, "IllegalStateException"),
    ],
)
def test_claims_on_partitions_that_a_topic_no_longer_has_are_kept_and_may_make_it_fail(
    assignor: Assignor, topics: dict[str, int], claims: dict[str, str], given: dict[str, str] | str
) -> None:
    # All four are what the released 4.1.0 answers.
    group = _claiming(group_of(topics, dict.fromkeys(("m1", "m2"), " ".join(topics))), claims)
    if isinstance(given, str):
        with pytest.raises(AssignorError) as caught:
            assignor(group)
        assert caught.value.error == given
        return
    answer = assignor(group)
    names = [f"{topic}-{number}" for topic, number in (*partitions_of(group), *answer.strays)]
    found = {
        member.member_id: " ".join(sorted(names[number] for number in numbers))
        for member, numbers in zip(group.members, answer.owned, strict=True)
    }
    held = {names[number]: group.members[position].member_id for number, position in answer.withheld.items()}
    for name, member_id in held.items():
        found[member_id] = " ".join(sorted([*found[member_id].split(), name]))
    assert found == given


@rows(
    ("topics", "members", "claims", "given", "held"),
    [
        (
            {"t": 2, "u": 2},
            {"m1": "t", "m2": "t u"},
            {"m1": "t-0 t-5", "m2": "t-1 u-0 u-1"},
            {"m1": "t-0 t-5", "m2": "t-1 u-0 u-1"},
            {},
        ),
        (
            {"t": 2, "u": 4},
            {"m1": "t u", "m2": "u", "m3": "t"},
            {"m1": "t-0 t-5 u-0 u-1", "m2": "u-2 u-3", "m3": "t-1"},
            {"m1": "t-5 u-0 u-1 u-2", "m2": "u-0 u-1 u-2 u-3 u-3", "m3": "t-0 t-1"},
            {"t-0": "m3"},
        ),
        (
            {"t": 1, "u": 2},
            {"m1": "t u", "m2": "u", "m3": "u"},
            {"m1": "t-0 t-5 t-6 t-7", "m2": "u-0 u-1 u-3"},
            {"m1": "t-0 t-5 t-6 t-7", "m2": "u-0 u-1 u-3", "m3": "u-0 u-1"},
            {},
        ),
    ],
)
def test_after_a_partition_that_is_gone_everything_gets_an_owner_once_more(
    topics: dict[str, int],
    members: dict[str, str],
    claims: dict[str, str],
    given: dict[str, str],
    held: dict[str, str],
) -> None:
    # What the released 4.1.0 answers: a kept claim on t-5 is waited for in vain by those who look for the unowned.
    group = _claiming(group_of(topics, members), claims)
    assert _named(group, sticky(group)) == given
    answer = cooperative_sticky(group)
    for name, member_id in held.items():
        given[member_id] = given[member_id].replace(name, "").strip()
    assert _named(group, answer) == given
    assert _withheld(group, answer) == held


def test_a_number_below_zero_comes_before_all_partitions_of_its_topic() -> None:
    group = group_of({"t": 2, "u": 2}, {"m1": "t", "m2": "t u"})
    claims = {"m1": (("t", 0), ("t", -1)), "m2": (("t", 1), ("u", 0), ("u", 1))}
    claimed = [replace(m, claims=claims[m.member_id], claim_generation=1, generation_field=1) for m in group.members]
    group = replace(group, members=tuple(claimed))
    # What the released 4.1.0 answers.
    assert _named(group, sticky(group)) == {"m1": "t--1 t-0 t-0 t-1", "m2": "t-1 u-0 u-1"}


def test_a_partition_that_one_member_claims_twice_after_another_is_nobodys() -> None:
    group = group_of({"t": 3, "u": 1}, {"m1": "t", "m2": "t u"})
    group = _claiming(group, {"m1": "t-0 t-1", "m2": "t-1 t-1 u-0"})
    older = tuple(replace(m, generation_field=-1) if m.member_id == "m2" else m for m in group.members)
    # What the released 4.1.0 answers: the second claim takes away what it adds.
    group = replace(group, members=older)
    assert _named(group, sticky(group)) == {"m1": "t-0 t-1", "m2": "t-2 u-0"}


def test_members_list_what_they_kept_before_what_is_new() -> None:
    group = group_of(THREE_BY_TWO.topics, dict.fromkeys(("C0", "C2"), "t0 t1 t2"))
    answer = sticky(_claiming(group, {"C0": "t1-1 t0-0", "C2": "t1-0 t2-1"}))
    assert answer.owned == [[0, 3, 1], [2, 5, 4]]


def test_a_joiner_waits_a_round_for_what_others_must_give_up() -> None:
    group = group_of({"t0": 6}, dict.fromkeys(("C0", "C1", "C2"), "t0"))
    group = _claiming(group, {"C0": "t0-0 t0-2 t0-4", "C1": "t0-1 t0-3 t0-5"})
    assert owned(group, sticky(group)) == {"C0": "t0-0 t0-2", "C1": "t0-1 t0-3", "C2": "t0-4 t0-5"}
    answer = cooperative_sticky(group)
    assert owned(group, answer) == {"C0": "t0-0 t0-2", "C1": "t0-1 t0-3", "C2": ""}
    assert _withheld(group, answer) == {"t0-4": "C2", "t0-5": "C2"}


def test_a_partition_claimed_twice_in_one_generation_is_nobodys() -> None:
    group = group_of({"t0": 4}, dict.fromkeys(("C0", "C1", "C2"), "t0"))
    claims = {"C0": "t0-0 t0-1", "C1": "t0-1 t0-2", "C2": "t0-2 t0-3"}
    group = _claiming(group, claims, {"C0": 5, "C1": 5, "C2": 4})
    assert owned(group, sticky(group)) == {"C0": "t0-0 t0-1", "C1": "t0-2", "C2": "t0-3"}
    answer = cooperative_sticky(group)
    assert owned(group, answer) == {"C0": "t0-0", "C1": "t0-2", "C2": "t0-3"}
    assert _withheld(group, answer) == {"t0-1": "C0"}


def test_the_members_order_decides_who_keeps_the_extra_partition() -> None:
    group = group_of({"t0": 7}, dict.fromkeys(("C0", "C1", "C2"), "t0"))
    group = _claiming(group, {"C0": "t0-0 t0-1 t0-2 t0-3", "C1": "t0-4 t0-5 t0-6"})
    assert owned(group, sticky(group)) == {"C0": "t0-0 t0-1 t0-2", "C1": "t0-4 t0-5", "C2": "t0-3 t0-6"}
    turned = replace(group, members=tuple(reversed(group.members)))
    assert owned(turned, sticky(turned)) == {"C0": "t0-0 t0-1", "C1": "t0-4 t0-5 t0-6", "C2": "t0-2 t0-3"}


@BOTH
def test_differing_subscriptions_go_to_the_least_loaded_subscriber(assignor: Assignor) -> None:
    group = group_of({"t0": 1, "t1": 2, "t2": 3}, {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"})
    assert owned(group, assignor(group)) == {"C0": "t0-0", "C1": "t1-0 t1-1", "C2": "t2-0 t2-1 t2-2"}


def test_differing_subscriptions_and_a_joiner() -> None:
    group = group_of({"t0": 3, "t1": 3}, {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1"})
    group = _claiming(group, {"C0": "t0-0 t0-1 t0-2", "C1": "t1-0 t1-1 t1-2"})
    assert owned(group, sticky(group)) == {"C0": "t0-1 t0-2", "C1": "t1-1 t1-2", "C2": "t0-0 t1-0"}
    answer = cooperative_sticky(group)
    assert owned(group, answer) == {"C0": "t0-1 t0-2", "C1": "t1-1 t1-2", "C2": ""}
    assert _withheld(group, answer) == {"t1-0": "C2", "t0-0": "C2"}


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


@BOTH
@rows("topics", [{}, {"t0": 0}, {"other": 3}])
def test_a_group_without_partitions_owns_nothing(assignor: Assignor, topics: dict[str, int]) -> None:
    assert assignor(group_of(topics, {"C0": "t0", "C1": "t0"})) == Assignment([[], []])


def test_claims_on_what_is_gone_count_for_nothing() -> None:
    group = group_of({"t0": 2}, {"C0": "t0", "C1": "t0"})
    assert sticky(_claiming(group, {"C0": "t0-5 gone-0 t0-1"})).owned == [[1], [0]]


def test_ids_are_compared_as_java_does() -> None:
    group = group_of({"t0": 1}, {"\U0001f600": "t0", "\ufb00": "t0", "\U0001f601": ""})
    assert owned(group, sticky(group))["\U0001f600"] == "t0-0"


@BOTH
def test_members_take_partitions_beside_their_replicas(assignor: Assignor) -> None:
    racks = {"C0": "b", "C1": "c", "C2": "a"}
    same = group_of({"t0": 6}, dict.fromkeys(racks, "t0"), racks=racks, replicas={"t0": "abcabc"})
    assert owned(same, assignor(same)) == {"C0": "t0-1 t0-4", "C1": "t0-2 t0-5", "C2": "t0-0 t0-3"}
    differing = group_of(
        {"t0": 3, "t1": 3}, {"C0": "t0", "C1": "t0 t1", "C2": "t1"}, racks=racks, replicas={"t0": "cbc", "t1": "caa"}
    )
    assert owned(differing, assignor(differing)) == {"C0": "t0-0 t0-1", "C1": "t0-2 t1-0", "C2": "t1-1 t1-2"}


def test_a_member_on_the_wrong_rack_gives_its_partition_up() -> None:
    racks = {"C0": "a", "C1": "b"}
    group = group_of({"t0": 2}, dict.fromkeys(racks, "t0"), racks=racks, replicas={"t0": "ba"})
    group = _claiming(group, {"C0": "t0-0", "C1": "t0-1"})
    assert owned(group, sticky(group)) == {"C0": "t0-1", "C1": "t0-0"}
    answer = cooperative_sticky(group)
    assert owned(group, answer) == {"C0": "", "C1": ""}
    assert _withheld(group, answer) == {"t0-1": "C0", "t0-0": "C1"}
