"""What `kafka-consumer-groups` would print of a simulated cluster has the layout of the real tool."""

import pytest

from kafka_coordinator.cluster.views import describe, description_of
from protocols.errors import UserError
from protocols.scenario.events import BrokerEvent
from tests.compare.reading.kafka_tool import ToolMember, members_view, offsets_view, state_view
from tests.kafka_coordinator.kafka_stories import Story

STATIC = {"instance_id": "pod-1"}


def story(system: str = "kafka:sticky", seconds: float = 25.0, **given: object) -> Story:
    made = Story(
        system,
        members={"c1": {}, "a-consumer-with-a-long-name": STATIC, "c3": {}},
        topics={"t": 5},
        rate=10.0,
        **given,  # type: ignore[arg-type]
    )
    made.to_end(seconds)
    return made


def tool_members(made: Story) -> list[ToolMember]:
    found = description_of(made.cluster, "g")
    assert found is not None
    return [
        ToolMember(
            each.member_id,
            each.client_id,
            {"t": sorted(number for _, number in each.assignment)} if each.assignment else {},
            each.instance_id or "-",
            each.host,
        )
        for each in found.members
    ]


def test_the_members_views_have_the_tools_layout() -> None:
    made = story()
    for verbose in (False, True):
        text = describe(made.cluster, "g", "members-verbose" if verbose else "members")
        assert text.splitlines() == members_view("g", tool_members(made), verbose)
        assert text.endswith("\n")


def test_the_offsets_view_has_the_tools_layout() -> None:
    made = story()
    found = description_of(made.cluster, "g")
    assert found is not None
    committed = {partition: (offset, found.ends[partition]) for partition, offset in found.committed.items()}
    assert set(found.ends.values()) == {250}
    text = describe(made.cluster, "g", "offsets")
    assert text.splitlines() == offsets_view("g", tool_members(made), committed)


def test_the_state_views_have_the_tools_layout() -> None:
    made = story()
    text = describe(made.cluster, "g", "state")
    assert text.splitlines() == state_view("g", "b1:9092", "sticky", "Stable", 3)
    assert describe(made.cluster, "g", "state-verbose").splitlines()[2].split() == (
        ["g", "b1:9092", "(1)", "sticky", "Stable", "-", "-", "3"]
    )


def test_what_cannot_be_described_is_told() -> None:
    made = story()
    assert "Group h not found." in describe(made.cluster, "h")
    with pytest.raises(UserError, match="unknown view 'lag', expected one of offsets"):
        describe(made.cluster, "g", "lag")
    made.cluster.apply(BrokerEvent(at=25_000.0, broker="b1", does="kill"))
    with pytest.raises(UserError, match="its broker is not running"):
        describe(made.cluster, "g")
