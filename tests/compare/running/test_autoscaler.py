"""An autoscaler starts and ends members by the group's lag, as KEDA and Kubernetes decide; numbers by arithmetic."""

from typing import Any

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import read_text, scenario
from compare.running.variants import variants_of
from protocols.errors import UserError
from protocols.scenario.writing import as_yaml
from protocols.timeline.story import story
from tests.compare.compared import ran
from tests.rows import rows

BURST = {"at": "60s", "produce": {"X": 60000}}


def day(*, members: int = 2, queues: int = 12, **more: Any) -> dict[str, Any]:
    """Each member handles 100/s; 50 % of that comes."""
    return {
        "name": "a burst",
        "topics": {"X": queues},
        "group": {"name": "g", "members": {f"g-1..g-{members}": {"subscribe": ["X"], "handle": "10ms"}}},
        "load": {"produce": "50%"},
        "run": {"for": "15min"},
        "systems": ["kafka:range", "rocketmq:AVG"],
        "events": [BURST],
        "scale": {"lag": 10000, "between": f"{members}..20", "every": "30s"},
        **more,
    }


def test_members_come_by_the_lag_and_go_when_it_has_been_low_for_five_minutes() -> None:
    for record in ran(scenario(day()))[1]["variants"]:
        steps = [(each["at_s"], each["from"], each["to"]) for each in record["scale"]]
        # 60,000 of 10,000 each: 6 at once, as 4 more are allowed; 10 s later they run, and need about 120 s.
        assert steps[0] == (60.0, 2, 6), record["label"]
        assert steps[-1][2] == 2
        # The last look at which six were wanted is at 60 or 90 s; five minutes later the first may go.
        assert 360 <= min(at for at, before, after in steps if after < before) <= 420
        assert sorted(record["owners"]) == ["g-1", "g-2"]
        assert record["lag"]["drain_s"] == pytest.approx(60000 / 600 + 10, rel=0.1)
        assert record["fairness"]["members"] == 2
        assert record["harm"]["work"]["waiting"] == 0


@rows(
    ("rule", "events", "most"),
    [
        ({}, [{"at": "60s", "produce": {"X": 500000}}], [6, 12]),
        ({"allow_idle": True}, [{"at": "60s", "produce": {"X": 500000}}], [6, 12, 20]),
        ({"between": "2..5"}, [BURST], [5]),
        ({"starts_in": "1h"}, [BURST], [6]),
        ({"lag": 100000}, [BURST], []),
        ({"tolerance": 3, "lag": 20000}, [BURST], []),
    ],
)
def test_bounds_queues_and_the_steps_up_are_kept(rule: dict[str, Any], events: list[Any], most: list[int]) -> None:
    given = day(events=events, run={"for": "3min"}, systems=["kafka:range"])
    (record,) = ran(scenario({**given, "scale": {**given["scale"], **rule}}))[1]["variants"]
    assert [each["to"] for each in record["scale"] if each["to"] > each["from"]] == most


def test_new_members_are_told_like_any_others_and_static_where_the_variant_is() -> None:
    given = scenario(day(systems=["kafka:range+static"], run={"for": "3min"}))
    (variant,) = variants_of(given)
    result = run_variant(variant)
    told = story(result.timeline)
    assert "autoscaler: 60" in told
    assert "g-3 joins" in told
    assert {"g-3 joins"} <= {rebalance.cause.text for rebalance in result.timeline.rebalances}
    assert [event.describe() for event in result.made] == [f"g-{number} joins" for number in (3, 4, 5, 6)]
    assert all(getattr(event, "instance_id", None) == event.describe().split()[0] for event in result.made)
    assert run_variant(variant).timeline.facts == result.timeline.facts


def test_a_rule_among_the_events_begins_at_its_time_and_is_written_back() -> None:
    given = day(run={"for": "3min"}, systems=["kafka:range"])
    rule = {**given.pop("scale"), "stabilization": "1min"}
    read = scenario({**given, "events": [BURST, {"at": "80s", "scale": rule}]})
    assert read.scale[0].at == 80_000
    assert read_text(as_yaml(read)) == read
    (record,) = ran(read)[1]["variants"]
    assert record["scale"][0]["at_s"] == 110.0


@rows(
    ("scale", "problem"),
    [
        ({"lag": 10}, "scale.between: is missing"),
        ({"lag": 10, "between": "9..2"}, "scale.between: '9..2' is no range, expected least and most from 1 on"),
        ({"lag": 0, "between": "1..2"}, "scale.lag: 0 is out of bounds, expected at least 1"),
        ({"lag": 10, "between": "1..2", "group": "h"}, "scale.group: unknown group 'h'"),
        ({"lag": 10, "between": "1..2", "every": "0s"}, "scale.every: 0s, expected some time"),
        ([{"lag": 10, "between": "1..2"}] * 2, "scale[1]: a second autoscaler of group g"),
    ],
)
def test_mistakes_are_told_in_one_line(scale: Any, problem: str) -> None:
    with pytest.raises(UserError) as told:
        scenario(day(scale=scale))
    assert problem in str(told.value)


def test_what_tells_no_lag_has_no_autoscaler() -> None:
    (variant,) = variants_of(scenario(day(systems=["kafka-zookeeper:range"])))
    with pytest.raises(UserError, match="no lag is told that an autoscaler could look at"):
        run_variant(variant)
