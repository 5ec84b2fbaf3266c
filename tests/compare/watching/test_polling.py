"""The core of `watch`, in virtual time: when clusters are polled, what has changed, what silence costs."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from compare.auditing.baseline import sentence
from compare.reading.observed import ObservedGroup
from compare.watching.changes import ChangeLog, GroupState, StateReader
from compare.watching.polling import Source, Watch
from compare.watching.world import run
from tests.compare.observed_groups import partitions
from tests.compare.watching.virtual import START, Answer, Diary, VirtualWorld, group

SIX = partitions("orders", *range(6))
EVEN = group("g", {"a": SIX[:3], "b": SIX[3:]}, SIX)
UNEVEN = group("g", {"a": SIX[:5], "b": SIX[5:]}, SIX)
CALM = [EVEN]


def states_of(groups: Sequence[ObservedGroup]) -> list[GroupState]:
    return StateReader().take(groups)


def watched(world: VirtualWorld, *clusters: str, polls: int | None = None, every_s: float = 30.0) -> Diary:
    diary = Diary()
    run(Watch([Source(name, (name,)) for name in clusters], every_s, START, polls), world, [diary])
    return diary


def test_polls_keep_to_the_grid_however_long_reading_takes() -> None:
    diary = watched(VirtualWorld(lambda name, at: CALM, START + 200, takes_s=7.0), "a")
    assert [poll.at - START for poll in diary.polls] == [7, 37, 67, 97, 127, 157, 187]
    slow = watched(VirtualWorld(lambda name, at: CALM, START + 200, takes_s=40.0), "a")
    assert [poll.at - START for poll in slow.polls] == [40, 100, 160], "missed times are skipped, not made up for"


def test_polls_end_after_the_number_asked_for() -> None:
    diary = watched(VirtualWorld(lambda name, at: CALM, START + 10_000), "a", "b", polls=3)
    assert [(poll.cluster, poll.number) for poll in diary.polls] == [
        (name, number) for number in (1, 2, 3) for name in ("a", "b")
    ]


def test_a_silent_cluster_is_tried_again_later_and_later_and_keeps_no_other_waiting() -> None:
    def answers(name: str, at: float) -> Answer:
        return "no broker answers" if name == "b" and at < START + 1000 else CALM

    diary = watched(VirtualWorld(answers, START + 1300), "a", "b")
    assert [failure.at - START for failure in diary.failures] == [0, 30, 90, 210, 450, 750]
    assert [failure.next_at - failure.at for failure in diary.failures] == [30, 60, 120, 240, 300, 300]
    assert {failure.why for failure in diary.failures} == {"no broker answers"}
    of_b = [poll for poll in diary.polls if poll.cluster == "b"]
    assert (of_b[0].at - START, of_b[0].after_failures) == (1050, 6)
    assert of_b[1].at - START == 1080, "back to the grid"
    assert sum(poll.cluster == "a" for poll in diary.polls) == 44


def test_moves_members_and_rebalances_are_counted_since_the_beginning() -> None:
    nights = {0: EVEN, 30: EVEN, 60: UNEVEN, 90: EVEN, 600: UNEVEN}

    def answers(name: str, at: float) -> Answer:
        return [nights[max(time for time in nights if time <= at - START)]]

    diary = watched(VirtualWorld(answers, START + 700), "a")
    seen = {poll.at - START: poll.groups[0] for poll in diary.polls}
    assert [seen[at].moves for at in (0, 30, 60, 90, 120, 600, 630)] == [None, 0, 2, 2, 0, 2, 0]
    assert [seen[at].moves_total for at in (30, 60, 90, 600)] == [0, 2, 4, 6]
    # 60 and 90 s belong to one rebalance, 600 s is another one.
    assert [seen[at].rebalances_seen_total for at in (30, 60, 90, 570, 600)] == [0, 1, 1, 1, 2]
    assert [seen[at].rebalances for at in (0, 30, 60)] == [None, 0, 1]
    assert [seen[at].state.distance for at in (0, 60)] == [0, 2]
    assert seen[60].state.optimum_max == 3
    (change,) = next(poll for poll in diary.polls if poll.at == START + 60).changes
    assert sentence(change) == "rocketmq group g: worse: heaviest load over the mean 1 -> 1.66667; 2 queues moved"
    assert all(not poll.changes for poll in diary.polls if poll.at - START in (0, 30, 120))


def test_a_queue_that_is_nobodys_in_between_has_moved_once() -> None:
    log = ChangeLog()
    between = group("g", {"a": SIX[:3], "b": ()}, SIX)
    after = group("g", {"a": SIX, "b": ()}, SIX)
    found = [log.take(states_of([each]), at) for at, each in enumerate((EVEN, between, after))]
    assert [groups[0].moves for groups, _ in found] == [None, 0, 3]
    (told,) = found[2][1]
    assert [queue[3:] for queue in told["moved"]] == [["b", "a"]] * 3


def test_members_that_come_and_go_are_named() -> None:
    log = ChangeLog()
    log.take(states_of([EVEN]), 0)
    (seen,), (change,) = log.take(states_of([group("g", {"a": SIX[:3], "c": SIX[3:]}, SIX)]), 30)
    assert (seen.joined, seen.left, seen.moves) == (("c",), ("b",), 3)
    assert (change["joined"], change["left"]) == (["c"], ["b"])


def test_what_is_not_told_is_no_change() -> None:
    log = ChangeLog()
    unknown = group("g", {"a": SIX[:3], "b": SIX[3:]}, SIX, member_count=2)
    silent = unknown.__class__("rocketmq", "g", "shared", "ONLINE", "AVG", None, SIX, member_count=2)
    polls = [log.take(states_of([each]), at) for at, each in enumerate((unknown, silent, unknown))]
    assert [(groups[0].moves, groups[0].joined) for groups, _ in polls] == [(None, None), (None, None), (0, ())]
    assert [change for _, changed in polls for change in changed if change["joined"] or change["left"]] == []


def test_new_and_gone_groups_are_told() -> None:
    log = ChangeLog()
    log.take(states_of([EVEN]), 0)
    other = group("h", {"a": SIX}, SIX)
    assert [change["change"] for change in log.take(states_of([EVEN, other]), 1)[1]] == ["new"]
    # A broker that does not answer hides groups, which are neither gone nor new when it is back.
    assert log.take(states_of([EVEN]), 2, whole=False)[1] == []
    assert log.take(states_of([EVEN, other]), 3)[1] == []
    assert [change["change"] for change in log.take(states_of([EVEN]), 4)[1]] == ["gone"]


@pytest.mark.parametrize("takes_s", [0.0, 5.0])
def test_stopping_tells_nothing_half(takes_s: float) -> None:
    diary = watched(VirtualWorld(lambda name, at: CALM, START + 61, takes_s), "a")
    assert [poll.number for poll in diary.polls] == ([1, 2, 3] if takes_s == 0 else [1, 2])


def test_a_group_that_stays_as_it_was_is_judged_as_if_for_the_first_time() -> None:
    def lagging(group: ObservedGroup, lag: int) -> ObservedGroup:
        return replace(group, lag={SIX[0]: lag, SIX[1]: None})

    reader = StateReader()
    polls = [
        [lagging(EVEN, 5), replace(UNEVEN, name="h")],
        [lagging(EVEN, 70_000), replace(UNEVEN, name="h")],
        [lagging(UNEVEN, 7), replace(EVEN, name="h", lag={})],
    ]
    for groups in polls:
        assert reader.take(groups) == states_of(groups)
