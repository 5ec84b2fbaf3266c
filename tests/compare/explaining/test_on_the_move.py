"""Groups on their way to another assignment, told by the members view alone, and groups of both protocols."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compare.auditing.group_figures import judge
from compare.explaining.audited import document
from compare.explaining.diagnosis import diagnose, explain
from compare.explaining.finding import Finding
from compare.reading.gather import gather
from compare.reading.group_kinds import kind_of
from compare.reading.group_model import is_on_the_move
from tests.compare.observed_groups import CAPTURES, findings, observed, partitions

UNEVEN = {"a": partitions("t", 0, 1, 2, 3), "b": ()}


def found_in(*paths: Path) -> dict[str, dict[str, Finding]]:
    """Group to its findings by kind."""
    groups = judge(gather([str(path) for path in paths]).groups)
    return {group.observed.name: {each.kind: each for each in diagnose(group)} for group in groups}


def restarts(found: dict[str, Finding]) -> set[str]:
    return {remedy.restart for each in found.values() for remedy in each.remedies}


def moving(**fields: Any) -> dict[str, Finding]:
    strategy = fields.pop("strategy", "server-range")
    return findings(observed(UNEVEN, strategy, consumer_protocol=True, **fields))


def test_the_members_view_alone_shows_that_a_group_is_on_the_move() -> None:
    found = found_in(CAPTURES / "kafka" / "rebalancing" / "mid-reconcile.members-verbose.txt")["mid-reconcile"]
    assert found.keys() == {"rebalancing"}
    assert "CURRENT-EPOCH other than TARGET-EPOCH" in found["rebalancing"].cause
    assert found["rebalancing"].evidence["state"] is None
    assert found["rebalancing"].evidence["moving"] == ["WXo5C057RduiJ1xKD7kaAA", "aSra2vJcR_iToPz_qcfcFQ"]
    assert restarts(found) == {"none"}


def test_it_finds_the_same_groups_as_the_state_view_does() -> None:
    folder = CAPTURES / "kafka" / "cluster-a"
    without = found_in(folder / "all-groups.members-verbose.txt")
    by_state = found_in(*sorted(folder.glob("all-groups.*.txt")))
    shown = {name for name, found in without.items() if "rebalancing" in found}
    assert shown == {name for name, found in by_state.items() if "rebalancing" in found} != set()


@pytest.mark.parametrize("state", [None, "Stable"])
def test_a_group_whose_members_move_is_not_told_to_change_anything(state: str | None) -> None:
    still = moving(state=state, moving=())
    assert "rolling" in restarts(still)
    assert "rebalancing" not in still
    found = moving(state=state, moving=("b",))
    assert found.keys() == {"rebalancing"}
    assert restarts(found) == {"none"}
    assert ("says Stable" in found["rebalancing"].cause) == (state == "Stable")


def test_nobody_is_idle_while_the_group_rebalances() -> None:
    (still, moves) = (
        explain(judge([observed(UNEVEN, "server-range", consumer_protocol=True, moving=moving)])[0])
        for moving in ((), ("b",))
    )
    told = [document([each], ())["groups"][0] for each in (still, moves)]
    assert [each["idle_members"] for each in told] == [1, None]
    assert any("rebalances" in each["why"] and "idle_members" in each["figures"] for each in told[1]["untold"])
    assert {each["kind"] for each in told[1]["findings"]} == {"rebalancing"}


def test_a_state_that_says_so_is_named_instead() -> None:
    cause = moving(state="Reconciling", moving=("b",))["rebalancing"].cause
    assert "is in Reconciling" in cause
    assert "CURRENT-EPOCH" not in cause


def test_no_cause_looks_at_what_members_own_while_they_move() -> None:
    partitions_of_a_and_b = {"a": partitions("t", 0), "b": ()}
    others: list[dict[str, Any]] = [
        {"more_queues": partitions("t", 9)},
        {"lag": dict.fromkeys(partitions("t", 0), 7), "instances": {"a": "i"}},
    ]
    for fields in others:
        group = observed(partitions_of_a_and_b, "server-range", consumer_protocol=True, **fields)
        assert not is_on_the_move(group)
        assert set(findings(group)) - {"rebalancing"}
        assert set(findings(replace(group, moving=("a",)))) == {"rebalancing"}


def test_members_that_are_not_upgraded_take_no_assignor_of_the_broker() -> None:
    setting = "group.remote.assignor=uniform"
    mixed = {"one": partitions("a", 0, 1) + partitions("b", 0, 1), "two": partitions("a", 2) + partitions("b", 2)}
    group = observed(mixed, "server-range", consumer_protocol=True)
    (plain,) = (each for found in findings(group).values() for each in found.remedies if setting in each.commands)
    assert "classic" not in plain.text
    group = replace(group, classic_members=("two",))
    assert kind_of(group) == "consumer-protocol"
    (told,) = (each for found in findings(group).values() for each in found.remedies if setting in each.commands)
    assert "two still speaks the classic protocol and takes no group.remote.assignor" in told.text
    assert not [
        remedy for found in findings(group).values() for remedy in found.remedies if "partition." in remedy.text
    ]


def test_the_captured_group_of_both_protocols_is_one_of_the_consumer_protocol() -> None:
    (group,) = gather([str(CAPTURES / "kafka" / "groups" / "g27-kip848-mixed.members-verbose.txt")]).groups
    assert kind_of(group) == "consumer-protocol"
    assert len(group.classic_members) == 2
