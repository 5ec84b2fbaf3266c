"""A load as a part of what the group can handle."""

from typing import Any

import pytest

from protocols.errors import UserError
from protocols.scenario.reading import read_text, scenario
from protocols.scenario.writing import as_yaml
from tests.rows import rows

EQUAL = {"c1": {"subscribe": ["a", "b"], "handle": "10ms"}, "c2": {"subscribe": ["a"], "handle": "40ms", "threads": 2}}
"""100 and 50 records per second."""


def day(load: dict[str, Any], members: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "name": "parts",
        "topics": {"a": 3, "b": 2, "unread": 4},
        "group": {"name": "g", "members": members or EQUAL},
        "load": load,
        "run": {"for": "1min"},
        "systems": ["kafka:range"],
        **more,
    }


@rows(
    ("load", "produce", "rates"),
    [
        ({"produce": "80%"}, 24.0, {}),
        ({"produce": "60%", "rates": {"a-0": "20%"}}, 22.5, {"a-0": 30.0}),
        ({"produce": "50 %", "rates": {"a": "10%", "b-1": "7/s"}}, 75.0, {"a": 5.0, "b-1": 7.0}),
    ],
)
def test_percentages_are_of_what_the_members_of_the_beginning_handle(
    load: dict[str, Any], produce: float, rates: dict[str, float]
) -> None:
    late = [{"at": "10s", "join": "c3", "subscribe": ["a"], "handle": "1ms"}]
    made = scenario(day(load, events=late)).load
    assert made.produce == pytest.approx(produce)
    assert made.rates == pytest.approx(rates)


def test_threads_of_the_scenario_count_and_what_is_read_is_written() -> None:
    made = scenario(day({"produce": "100%"}, {"c1..c4": {"subscribe": ["b"], "handle": "20ms"}}, threads=3))
    assert made.load.produce == pytest.approx(300.0)
    assert read_text(as_yaml(made)) == made


@rows(
    ("load", "more", "problem"),
    [
        ({"produce": "80%"}, {"members": {"c1": ["a"]}}, "load.produce: a percentage of no bound: handling takes c1"),
        ({"produce": "x%"}, {}, "load.produce: 'x%' is no percentage, expected one such as 80%"),
        ({"produce": "80%", "rates": {"a": "5/s", "b": "5/s"}}, {}, "load.produce: group g reads no queue without"),
        ({"rates": {"unread": "5%"}}, {}, "load.rates.unread: a percentage of what no group reads"),
        ({"rates": {"new": "5%"}}, {}, "load.rates.new: a percentage of no queue that is there from 0s on"),
        (
            {"produce": "80%"},
            {"threads": "real", "members": {"c1": {"subscribe": ["a"], "handle": "1ms"}}},
            "load.produce: a percentage of what differs: c1 has its client's own threads",
        ),
        (
            {"produce": "80%"},
            {"events": [{"at": "1s", "join": "c1"}, {"at": "1s", "join": "c2"}]},
            "load.produce: a percentage of what nobody handles: no member of group g",
        ),
    ],
)
def test_what_no_percentage_can_be_of_is_refused(load: dict[str, Any], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as told:
        scenario(day(load, **more))
    assert problem in str(told.value)


def test_groups_that_differ_are_told_with_their_rates() -> None:
    given = day({"produce": "50%"})
    members = {"c1": {"subscribe": ["a"], "handle": "10ms"}}
    groups = {"one": {"members": members}, "two": {"members": {"d1..d2": members["c1"]}}}
    with pytest.raises(UserError, match=r"would be 16.6667/s a queue of group one, 33.3333/s a queue of group two"):
        scenario({**{name: each for name, each in given.items() if name != "group"}, "groups": groups})
