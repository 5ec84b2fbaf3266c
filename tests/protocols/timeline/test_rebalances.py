"""Who caused a rebalance, how it went, whom it kept waiting."""

from protocols.facts import RebalanceBegan, RebalanceEnded
from protocols.scenario.events import Commit, Crash, Hang, Join, Queues
from protocols.timeline.story import causal_chain
from tests.protocols.timeline.timeline_made import A, B, owns, recorded

JOIN = Join(at=1000.0, join="c2")
CRASH = Crash(at=5000.0, crash="c1")


def test_a_rebalance_tells_whom_it_kept_waiting() -> None:
    facts = [
        (0, owns("c1", A, B, generation=1)),
        (4000, RebalanceBegan("g", "c2 joins", "c2", 1)),
        (4100, owns("c1", generation=1)),
        (4500, RebalanceEnded("g", 2, True)),
        (4510, owns("c1", A, generation=2)),
        (4600, owns("c2", B, generation=2)),
    ]
    (found,) = recorded(facts, 10_000, [(1000.0, JOIN)]).rebalances
    assert found.paused == {"c1": 410}
    assert found.queue_gaps == 410 + 500


def test_a_chain_goes_from_the_event_to_the_last_effect() -> None:
    facts = [
        (1500, RebalanceBegan("g", "c2 joins", "c2", 1)),
        (4500, RebalanceEnded("g", 2, True)),
        (4510, owns("c1", A, generation=2)),
        (4600, owns("c2", B, generation=2)),
        (9000, owns("c2", generation=2)),
    ]
    timeline = recorded(facts[:4], 10_000, [(1000.0, JOIN)], roots={0: 2})
    assert [(link.at, link.text) for link in causal_chain(timeline, timeline.rebalances[0])] == [
        (1000, "c2 joins"),
        (1500, "g: rebalance begins: c2 joins"),
        (4500, "g: rebalance complete (generation 2)"),
        (4600, "c2 owns T-1 (generation 2)"),
    ]


def test_the_second_round_of_a_join_is_its_aftermath_though_a_heartbeat_brings_it() -> None:
    facts = [
        (10, RebalanceBegan("g", "c1 joined", "c1", 0)),
        (500, RebalanceEnded("g", 1, True)),
        (1010, RebalanceBegan("g", "c2 joined", "c2", 1)),
        (1500, RebalanceEnded("g", 2, True)),
        (1600, RebalanceBegan("g", "c1 rejoined", "c1", 2)),
        (4500, RebalanceEnded("g", 3, True)),
    ]
    # What c1 does still bears the number of the beginning: its heartbeats have carried it on.
    timeline = recorded(facts, 10_000, [(1000.0, JOIN)], roots={0: 1, 2: 2, 4: 1})
    assert [each.cause.text for each in timeline.rebalances] == ["the scenario begins", "c2 joins", "c2 joins"]


def test_a_hang_lingers_until_its_end_and_not_beyond() -> None:
    hang = Hang.model_validate({"at": 2000.0, "hang": "c1", "for": 4000.0})
    join = Join(at=3000.0, join="c3")
    facts = [
        (10, RebalanceBegan("g", "c1 joined", "c1", 0)),
        (500, RebalanceEnded("g", 1, True)),
        (3010, RebalanceBegan("g", "c3 joined", "c3", 1)),
        (3500, RebalanceEnded("g", 2, True)),
        (5000, RebalanceBegan("g", "session of c1 timed out", "c1", 2)),
        (5500, RebalanceEnded("g", 3, True)),
    ]
    roots = {0: 1, 2: 3, 4: 1}
    timeline = recorded(facts, 10_000, [(2000.0, hang), (3000.0, join)], roots=roots)
    assert [each.cause.text for each in timeline.rebalances] == ["the scenario begins", "c3 joins", "c1 hangs for 4s"]


def test_what_never_makes_a_group_share_anew_is_no_cause() -> None:
    facts = [(9000, RebalanceBegan("g", "c1 sees new partitions", "c1", 1)), (9500, RebalanceEnded("g", 2, True))]
    events = [
        (6000.0, Queues(at=6000.0, queues={"T": {"b": 4}})),
        (7000.0, Commit(at=7000.0, commit="c1")),
    ]
    (found,) = recorded(facts, 10_000, events).rebalances
    assert found.cause.text == "T has 4 queues"
