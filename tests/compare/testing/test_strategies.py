"""What the strategies draw can be, in both systems."""

from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from compare.testing import kafka_group, play, rocketmq_group
from compare.testing.strategies import KINDS, faults, groups, scenarios
from protocols.scenario.events import Event
from protocols.scenario.model import Scenario
from protocols.scenario.reading import read_text
from protocols.scenario.writing import as_yaml


@settings(max_examples=40, deadline=None)
@given(scenarios())
def test_every_scenario_is_lived_through_to_its_end(scenario: Scenario) -> None:
    assert read_text(as_yaml(scenario)) == scenario
    group = play(scenario)
    assert group.clock.time == scenario.run.for_
    assert [each.text for each in group.timeline.causes.happenings if each.follows is None]


@settings(max_examples=25, deadline=None)
@given(groups(same_topics=True), st.data())
def test_groups_with_equal_subscriptions_come_to_rest_in_one_piece(plan: dict[str, Any], data: st.DataObject) -> None:
    for make in (kafka_group, rocketmq_group):
        group = make(**plan)
        group.live_through(data.draw(faults(group.members, most=3)))
        group.settle()
        if group.members:
            assert not group.allocation.unowned
            assert not group.allocation.double_owned


@settings(max_examples=50, deadline=None)
@given(faults(["c1", "c2"], kinds=["crash", "join", "leave"], keep=["c2"], within=10))
def test_schedules_keep_to_what_was_asked(schedule: tuple[Event, ...]) -> None:
    assert [event.at for event in schedule] == sorted(event.at for event in schedule)
    assert all(event.at <= 10_000 for event in schedule)
    assert {type(event).__name__ for event in schedule} <= {"Crash", "Join", "Leave"}
    assert "c2" not in [getattr(event, "crash", None) or getattr(event, "leave", None) for event in schedule]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=f"unknown kind 'explode', expected some of {', '.join(KINDS)}"):
        find(faults(["c1"], kinds=["explode"]), lambda schedule: True)
