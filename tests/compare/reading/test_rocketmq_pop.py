"""Views of groups that consume by POP: nobody owns a queue there, and no part of the views makes somebody say so."""

from itertools import combinations
from pathlib import Path

import pytest

from compare.auditing.group_figures import judge
from compare.explaining.diagnosis import explain_all
from tests.compare.reading.reading_rocketmq import read_files

CAPTURES = Path(__file__).parents[2] / "captures" / "rocketmq" / "pop-5.5"
IN_HAND = {"popping": 158, "popping_few": 0, "popping_busy": 196}
"""What the members' own counters say (waitAckCount)."""


@pytest.mark.parametrize("name", IN_HAND)
def test_lag_and_what_members_have_in_hand_are_told_and_no_owners(name: str) -> None:
    groups, _ = read_files(CAPTURES)
    (explained,) = explain_all(judge([groups[name]]))
    (found,) = explained.findings
    assert groups[name].mode == "pop"
    assert found.kind == "given-out"
    assert explained.group.figures["lag"] == (124 if name == "popping_busy" else 0)
    for figure in ("unowned_queues", "double_owned_queues", "idle_members", "jain"):
        assert explained.group.figures[figure] is None
    assert (f"members have {IN_HAND[name]:,} records in hand" in found.cause) == bool(IN_HAND[name])
    assert "lag does not count" in found.cause or "lag counts records that no member has been given" in found.cause


@pytest.mark.parametrize("name", ["popping", "popping_few", "popping_busy"])
def test_no_part_of_the_views_accuses_anybody(name: str) -> None:
    files = sorted(each for each in (CAPTURES / name).glob("*.txt") if "stderr" not in each.name)
    for count in range(1, len(files) + 1):
        for part in combinations(files, count):
            groups, _ = read_files(*part)
            for explained in explain_all(judge(list(groups.values()))):
                assert {found.kind for found in explained.findings} <= {"given-out", "untold"}, part
                assert not explained.group.figures["unowned_queues"], part
                assert not explained.group.figures["idle_members"], part


def test_what_no_view_tells_is_said_with_the_command_that_would() -> None:
    groups, _ = read_files(
        CAPTURES / "popping" / "consumerConnection.txt", CAPTURES / "popping" / "consumerProgress_s.txt"
    )
    partial = groups["popping"].partial
    assert partial is not None
    assert partial.topics == ("orders",)
    assert "if they consume by POP, nobody owns a queue" in partial.why
    assert partial.why.endswith("consumerStatus -g GROUP -i CLIENT tells")


def test_a_group_behind_the_proxy_has_lag_and_no_members_for_mqadmin() -> None:
    groups, skipped = read_files(CAPTURES / "grpc_simple")
    assert sum(lag or 0 for lag in groups["grpc_simple"].lag.values()) == 284
    (why,) = [each.why for each in skipped]
    assert "CODE: 17" in why
    assert "consumerProgress -g GROUP -t TOPIC and brokerConsumeStats" in why
