"""Who owned what, when nobody did, when two did: by hand, and against a textbook."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols import Queue
from protocols.facts import RebalanceEnded, Transition
from protocols.scenario.events import Crash
from protocols.scenario.reading import scenario
from protocols.timeline import PER_BROKER, THROUGHOUT, InvariantError, Recorder, lifetimes, may_own_in
from protocols.timeline.ownership import Interval, Pause
from tests.protocols.timeline.timeline_made import A, B, C, owns, recorded
from tests.rows import rows


def test_a_crashed_member_believes_nothing_and_a_hung_one_goes_on_believing() -> None:
    crashed = [(0, owns("c1", A, generation=1)), (2000, owns("c1")), (5000, owns("c2", A, generation=2))]
    assert recorded(crashed, 9000).ownership.unowned == 3000
    hung = [(0, owns("c1", A, generation=1)), (5000, owns("c2", A, generation=2)), (8000, owns("c1", generation=1))]
    assert recorded(hung, 9000).ownership.double_owned == 3000


def test_an_interval_lies_within_one_generation() -> None:
    facts = [(0, owns("c1", A, B, generation=1)), (10, owns("c1", A, generation=2)), (20, owns("c1", A, generation=3))]
    timeline = recorded(facts, 30)
    of_a = [each for each in timeline.beliefs if each.queue == A]
    assert of_a == [
        Interval("g", "c1", A, 0, 10, 1),
        Interval("g", "c1", A, 10, 20, 2),
        Interval("g", "c1", A, 20, None, 3),
    ]
    assert timeline.ownership.moves == 0
    assert timeline.ownership.last_change == 10


def test_a_queue_that_is_deleted_is_not_missed() -> None:
    lives = {A: ((0.0, 6000.0),)}
    timeline = recorded([(0, owns("c1", A)), (4000, owns("c1"))], 10_000, lives=lives)
    assert timeline.ownership.unowned == 2000


def test_a_pause_is_time_without_any_queue_between_some_and_some() -> None:
    facts = [(0, owns("c1", A)), (5, owns("c1")), (30, owns("c1", B)), (40, owns("c1"))]
    assert recorded(facts, 60).pauses == (Pause("g", "c1", 5, 30),)


def test_time_between_a_crash_and_a_new_start_is_no_pause() -> None:
    facts = [(0, owns("c1", A)), (5, owns("c1")), (30, owns("c1", A))]
    assert recorded(facts, 60, events=[(5.0, Crash(at=5.0, crash="c1"))]).pauses == ()


def test_a_generation_that_goes_back_raises() -> None:
    with pytest.raises(InvariantError, match="c1 of g goes back from generation 2 to 1"):
        recorded([(0, owns("c1", A, generation=2)), (1, owns("c1", A, generation=1))], 5)
    with pytest.raises(InvariantError, match="g goes back from generation 4 to 3"):
        recorded([(0, RebalanceEnded("g", 4, True)), (1, RebalanceEnded("g", 3, True))], 5)


@rows("machine", ["group", "consumer group"])
def test_a_group_that_was_dead_begins_anew(machine: str) -> None:
    ended = Transition(machine, "g", "Empty", "deleted", "Dead")
    recorded([(0, RebalanceEnded("g", 4, True)), (1, ended), (2, RebalanceEnded("g", 1, True))], 5)


def test_a_member_that_starts_anew_may_begin_with_a_lower_generation() -> None:
    recorded([(0, owns("c1", A, generation=5)), (1, owns("c1")), (2, owns("c1", A, generation=1))], 5)


def test_an_owner_that_never_subscribed_raises() -> None:
    made = scenario(
        name="s",
        topics={"T": 2, "U": 1},
        group={"name": "g", "members": {"c1": {"subscribe": ["U"]}, "c2": {"pattern": "T.*"}}},
        run={"for": "1min"},
        events=[{"at": "10s", "subscribe": {"c1": ["T"]}}],
    )
    recorder = Recorder(may_own=may_own_in(made))
    recorder.fact(0.0, "c2", owns("c2", A), -1, 0)
    with pytest.raises(InvariantError, match="c1 of g owns queues of T"):
        recorder.fact(9_999.0, "c1", owns("c1", A), -1, 0)
    recorder.fact(10_000.0, "c1", owns("c1", B), -1, 0)


def test_queues_live_as_long_as_the_scenario_lets_them() -> None:
    made = scenario(
        name="s",
        brokers=["a", "b"],
        topics={"T": {"queues": {"a": 1, "b": 1}}, "U": 1},
        group={"name": "g", "members": {"c1": ["T"]}},
        run={"for": "1min"},
        events=[
            {"at": "10s", "queues": {"T": {"a": 2, "b": 1}}},
            {"at": "20s", "queues": {"T": {"a": 1, "b": 1}}},
            {"at": "30s", "delete_topic": "U"},
        ],
    )
    assert lifetimes(made, PER_BROKER) == {
        Queue("T", "a", 1): ((10_000.0, 20_000.0),),
        Queue("U", "a", 0): ((0.0, 30_000.0),),
    }
    # Kafka numbers partitions through, and never has fewer of them.
    assert lifetimes(made, THROUGHOUT) == {Queue("T", "", 2): ((10_000.0, inf),), Queue("U", "", 0): ((0.0, 30_000.0),)}


STATEMENTS = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from(["c1", "c2", "c3"]), st.sets(st.sampled_from([A, B, C]))), max_size=25
)


@given(STATEMENTS, st.integers(0, 5))
def test_the_live_figures_are_those_of_the_textbook(statements: list[tuple[int, str, set[Queue]]], rest: int) -> None:
    """Beliefs hold from whole milliseconds on, so counting each millisecond by itself gives the same."""
    facts, now = [], 0
    for after, member, queues in statements:
        now += after
        facts.append((float(now), owns(member, *queues)))
    end = now + rest
    timeline = recorded(facts, float(end))
    unowned = double = moves = longest = 0
    for queue in (A, B, C):
        owners: list[str] = []
        latest, run = None, 0
        for at in range(end):
            for when, fact in facts:
                if when == at:
                    has = fact.member in owners
                    if queue in fact.queues and not has:
                        moves += latest not in (None, fact.member)
                        owners.append(fact.member)
                        latest = fact.member
                    elif queue not in fact.queues and has:
                        owners.remove(fact.member)
                        latest = owners[-1] if owners and latest == fact.member else latest
            unowned += not owners and latest is not None
            double += len(owners) > 1
            run = run + 1 if not owners and latest is not None else 0
            longest = max(longest, run)
        # What is said at the very end lasts no time, but moves.
        for when, fact in facts:
            if when == end and queue in fact.queues and fact.member not in owners:
                moves += latest not in (None, fact.member)
    assert timeline.ownership[:4] == (unowned, double, longest, moves)
    assert sum((each.until or end) - each.since for each in timeline.gaps) == unowned
    assert sum((each.until or end) - each.since for each in timeline.doubles) == double
