"""Members that are slow for a while, and settings of all members of a group."""

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import read_text, scenario
from compare.running.variants import variants_of
from protocols.errors import UserError
from protocols.scenario.events import Join
from protocols.scenario.writing import as_yaml
from tests.compare.compared import made, ran

GROUP = {"name": "g", "members": {"p1..p4": {"subscribe": ["X"], "handle": "20ms"}}}


def test_the_loop_of_a_slow_member_polls_too_late_and_a_new_process_is_not_slow() -> None:
    """500 records of 1 s each are in hand for longer than max.poll.interval.ms allows; killed, it begins anew."""
    group = {**GROUP, "settings": {"max.poll.interval.ms": 60000}}
    slow = {"at": "30s", "slow": {"p1..p2": "1s"}, "for": "10min"}
    burst = {"at": "29s", "produce": {"X": 8000}}
    late, anew = (
        ran(made(systems=["kafka:range"], group=group, topics={"X": 4}, load={}, events=events, run={"for": "8min"}))[1]
        for events in ([burst, slow], [burst, slow, {"at": "31s", "restart": "p1..p2", "how": "crash"}])
    )
    caused = {each["cause"]: each["rebalances"] for each in late["variants"][0]["caused"]}
    assert caused["p1 and p2 take 1s a record for 10min"] >= 1
    assert anew["variants"][0]["harm"]["work"]["waiting"] == 0


def test_who_is_slow_already_is_not_slowed_again() -> None:
    events = [{"at": "10s", "slow": {"p1": "1s"}, "for": "9s"}, {"at": "15s", "slow": {"p1..p2": "2s"}, "for": "1s"}]
    with pytest.raises(UserError, match="p1 is still in the previous one until 19s"):
        made(group=GROUP, events=events)
    read_back = made(group=GROUP, events=events[1:])
    assert read_text(as_yaml(read_back)) == read_back
    assert read_back.events[0].describe() == "p1 and p2 take 2s a record for 1s"


def test_settings_of_the_group_are_those_of_every_member_that_has_not_its_own() -> None:
    given = {
        "name": "all",
        "topics": {"X": 4},
        "group": {
            "name": "g",
            "settings": {"max.poll.records": 10, "consumeThreadMax": 3, "consumer.session.timeout.ms": 60000},
            "members": {"c1": ["X"], "c2": {"subscribe": ["X"], "settings": {"max.poll.records": 20}}},
        },
        "run": {"for": "1min"},
        "systems": ["kafka:range"],
        "events": [{"at": "9s", "join": "c3", "subscribe": ["X"], "settings": {"max.poll.records": None}}],
    }
    read = scenario(given)
    group = read.groups["g"]
    assert group.settings == {"consumer.session.timeout.ms": 60000}
    assert group.members["c1"].settings == {"max.poll.records": 10, "consumeThreadMax": 3}
    assert group.members["c2"].settings == {"max.poll.records": 20, "consumeThreadMax": 3}
    (join,) = read.events
    assert isinstance(join, Join)
    assert {name: value for name, value in join.settings.items() if value is not None} == {"consumeThreadMax": 3}
    assert read_text(as_yaml(read)) == read
    for variant in variants_of(read, ["kafka:range", "kafka:uniform", "rocketmq:AVG"]):
        run_variant(variant)
    given["group"] = {"name": "g", "settings": {"max.pol.records": 10}, "members": {"c1": ["X"]}}
    given["events"] = []
    (wrong,) = variants_of(scenario(given))
    with pytest.raises(UserError, match=r"unknown setting 'max\.pol\.records', did you mean max\.poll\.records"):
        run_variant(wrong)
