"""Causes of rebalances that linger: the second round of a join, and a hang."""

from protocols.facts import RebalanceBegan, RebalanceEnded
from protocols.scenario.events import Hang, Join
from tests.protocols.timeline.timeline_made import recorded

JOIN = Join(at=1000.0, join="c2")


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
