"""Share groups in the model beside released 4.4.0 members on a released 4.4.0 broker (spec share 6, 7)."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

import pytest

from tests.kafka_coordinator.share.recorded import Given, played, recording

HEARTBEAT_S, SESSION_S, LOCK_S = 5.0, 45.0, 30.0
NEAR_S = 1.5
"""So near are times that no heartbeat decides: of clients that start, and of a busy machine."""
SOURCES: dict[str, Callable[[str], list[Given]]] = {"real": lambda name: recording(name).given, "model": played}
BOTH = pytest.mark.parametrize("source", SOURCES)


def of(given: Sequence[Given], partition: int) -> list[Given]:
    return sorted(each for each in given if each.partition == partition)


def silences(given: Sequence[Given], longer: float, until: float) -> list[tuple[float, float]]:
    """When nobody was given anything of a partition for longer than this, and the next one before ``until``."""
    found = []
    for partition in range(4):
        all_of = of(given, partition)
        found += [(one.at, two.at) for one, two in pairwise(all_of) if two.at - one.at > longer]
    return sorted(each for each in found if each[1] < until)


@BOTH
@pytest.mark.parametrize("name", ["crowd", "lonely"])
def test_every_record_is_given_to_somebody(source: str, name: str) -> None:
    given = SOURCES[source](name)
    for partition in range(4):
        # The newest ones wait at the end, behind what had waited for a session.
        assert {each.offset for each in of(given, partition)} >= set(range(150))


@BOTH
def test_a_newcomer_is_given_records_at_once_and_nobody_pauses(source: str) -> None:
    given = SOURCES[source]("crowd")
    started = recording("crowd").at("started")["c3"]
    assert min(each.at for each in given if each.member == "c3") - started < NEAR_S
    assert silences(given, 1.2, 29.0) == []
    assert [each for each in given if each.attempt > 1 and each.at < LOCK_S] == []


@BOTH
@pytest.mark.parametrize(("name", "who"), [("crowd", "c1"), ("lonely", "c2")])
def test_partitions_of_a_killed_member_alone_wait_for_its_session(source: str, name: str, who: str) -> None:
    given = SOURCES[source](name)
    killed = recording(name).at("killed")[who]
    mine = {each.partition for each in given if each.member == who and killed - 5 < each.at < killed}
    again = min(each.at for each in given if each.partition in mine and each.at > killed and each.member != who)
    assert SESSION_S - HEARTBEAT_S <= again - killed <= SESSION_S + HEARTBEAT_S + 1
    assert abs(again - min(each.at for each in _others(name, mine, killed))) <= HEARTBEAT_S


def _others(name: str, mine: set[int], killed: float) -> list[Given]:
    """What the released members were given of partitions that waited."""
    gaps = silences(recording(name).given, SESSION_S - HEARTBEAT_S - 1, 85.0)
    ends = {end for begin, end in gaps if begin < killed < end}
    return [each for each in recording(name).given if each.at in ends]


@BOTH
def test_a_record_in_hand_of_a_killed_member_is_given_with_the_next_count(source: str) -> None:
    given, killed = SOURCES[source]("crowd"), recording("crowd").at("killed")["c1"]
    in_hand = max(each for each in given if each.member == "c1")
    later = [each for each in given if each[2:4] == in_hand[2:4] and each.at > killed]
    assert [each.attempt for each in later] == [2]


@BOTH
def test_a_record_that_is_handled_for_longer_than_its_lock_is_given_again(source: str) -> None:
    given = SOURCES[source]("crowd")
    ((at, who, _),) = [each for each in recording("crowd").head["slow"] if each[1] == "c2"]
    slow = max(each for each in given if each.member == who and each.at < at + NEAR_S)
    (again,) = [each for each in given if each[2:4] == slow[2:4] and each.attempt == 2]
    # Nobody else has the partition, so it comes back when its own member polls again, after 40 s.
    assert again.member == who
    assert again.at - slow.at == pytest.approx(40.0, abs=NEAR_S)


@BOTH
def test_a_poison_record_is_given_five_times(source: str) -> None:
    given = SOURCES[source]("lonely")
    (poison,) = {each[2:4] for each in given if each.attempt == 5}
    tries = sorted(each for each in given if each[2:4] == poison)
    assert [each.attempt for each in tries] == [1, 2, 3, 4, 5]
    # What is released waits for the next record that comes: nobody tells the fetch that waits.
    assert 0.4 < tries[-1].at - tries[0].at < 2.5
    assert fmean(each.at for each in tries) == pytest.approx(10.9, abs=0.5)


@BOTH
def test_a_closing_member_gives_back_what_it_has(source: str) -> None:
    given, closing = SOURCES[source]("lonely"), recording("lonely").at("closing")["c1"]
    back = [each for each in given if each.attempt == 2 and each.at > closing]
    assert back
    assert all(each.at - closing < HEARTBEAT_S and each.member == "c3" for each in back)
    assert back[0].at == pytest.approx(81.1, abs=0.5)
