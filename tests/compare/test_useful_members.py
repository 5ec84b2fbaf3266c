"""How many members a group needs."""

import pytest
from hypothesis import assume, given, settings

from compare.best import even_counts, fairest_loads, next_useful, optimum, steps, useful, with_members
from protocols import Group, GroupError
from tests.compare.optimum_cases import groups

LARGER = groups(members=8, queues=(1, 3, 8), topics=5)


@given(LARGER)
@settings(max_examples=80, deadline=None)
def test_the_next_useful_number_of_members_lowers_the_maximum_and_no_smaller_one_does(group: Group) -> None:
    answer = next_useful(optimum(group))
    before = max(fairest_loads(group), default=0)
    assume(before)
    if answer is None:
        assert before == 1
        return

    def after(added: int, topics: tuple[str, ...]) -> int:
        grown = group
        for n in range(added):
            grown = grown.joined_by(f"new-{n}", topics)
        return max(fairest_loads(grown))

    assert answer.members == len(group.members) + answer.added
    assert after(answer.added, answer.topics) == answer.max < before
    subscribed = {topic for member in group.members for topic in member.subscription}
    assert after(answer.added - 1, tuple(sorted(subscribed))) == before


def test_with_equal_subscriptions_it_is_division() -> None:
    group = Group.of({"t": 20, "u": 12}, {f"m{n}": ["t", "u"] for n in range(5)})
    answer = next_useful(optimum(group))
    assert answer is not None
    # 32 queues on 5 members make 7 at most; 6 at most take 6 members.
    assert (answer.added, answer.members, answer.max, answer.topics) == (1, 6, 6, ("t", "u"))


def test_weighted_optima_are_refused() -> None:
    group = Group.of({"t": 2}, {"a": ["t"]})
    with pytest.raises(ValueError, match="weighted"):
        next_useful(optimum(group, None, {group.queues[0]: 1, group.queues[1]: 2}))


def test_new_members_imitate_the_old_ones_in_turn() -> None:
    group = Group.of(
        {"t": 2, "u": 2},
        {"a": {"subscribe": ["t"], "instance_id": "i"}, "new-1": {"subscribe": ["u"], "rack": "r"}},
    )
    grown = with_members(group, 5)
    assert [member.id for member in grown.members] == ["a", "new-1", "new-2", "new-3", "new-4"]
    assert [member.subscription for member in grown.members] == [("t",), ("u",), ("t",), ("u",), ("t",)]
    assert grown.member("new-2").instance_id is None
    assert grown.member("new-3").rack == "r"
    assert [member.id for member in with_members(group, 1).members] == ["a"]
    assert with_members(group, 0).members == ()


def test_nobody_is_made_up_from_nothing() -> None:
    with pytest.raises(GroupError, match="cannot be given 2"):
        with_members(Group.of({}, {}, name="g"), 2)
    with pytest.raises(GroupError, match="cannot be given -1"):
        with_members(Group.of({}, {"a": []}), -1)


def test_useful_are_the_numbers_at_which_the_maximum_falls() -> None:
    group = Group.of({"t": 12}, {"a": ["t"]})
    found = steps(group, fairest_loads, range(1, 15))
    assert [(step.members, step.max) for step in useful(found)] == [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]
    assert (found[4].min, found[13].idle_members) == (2, 2)


def test_several_topics_divide_evenly_over_their_common_divisors() -> None:
    assert even_counts([12, 18]) == (1, 2, 3, 6)
    assert even_counts([30]) == (1, 2, 3, 5, 6, 10, 15, 30)
    assert even_counts([]) == ()
