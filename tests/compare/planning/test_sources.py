"""Plans for real groups: what the tools show is planned for, and what they do not show is refused or assumed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.cli import cli
from tests.compare.browser import Browser
from tests.compare.planning.plans import called

CAPTURES = str(Path(__file__).parents[3] / "examples" / "captures")


def of_captures(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", CAPTURES, "--seeds", "1", *arguments])


def test_a_group_of_the_tools_output_is_planned_for() -> None:
    found = of_captures("--group", "svc_shipping-v2-09", "--to", "cooperative-sticky", "--format", "json")
    plan = json.loads(found.stdout)
    assert plan["from"] == "range"
    assert len(plan["steps"][0]["restart"]) == 4
    assert any("No source shows settings and load" in each for each in plan["assumptions"])


def test_new_members_of_a_static_group_have_instance_ids_of_their_own() -> None:
    arguments = ("--group", "svc_shipping-v2-09", "--to", "members=6", "--format", "json")
    (step,) = json.loads(of_captures(*arguments).stdout)["steps"]
    assert step["start"] == ["new-1", "new-2"]
    assert step["settings"] == {name: {"group.instance.id": name} for name in step["start"]}
    assert step["cost"]["unsettled_runs"] == 0


def test_a_real_group_is_taken_to_skip_what_it_has_not_noticed() -> None:
    arguments = ("--group", "svc_shipping-v2-09", "--format", "json")
    grown = next(iter(_topics("svc_shipping-v2-09")))
    plan = json.loads(of_captures(*arguments, "--to", f"queues:{grown}=200").stdout)
    first, second = plan["steps"]
    assert {changes["auto.offset.reset"] for changes in first["settings"].values()} == {"earliest"}
    assert second["queues"] == {grown: 200}
    assert "never handles" in plan["wrong_orders"][0]["story"]


def _topics(group: str) -> set[str]:
    """The topics that a group of the captures reads."""
    found = CliRunner().invoke(cli, ["audit", CAPTURES, "--engine", "local", "--group", group, "--format", "json"])
    owners = json.loads(found.stdout)["groups"][0]["owners"]
    return {queue[0] for queues in owners.values() for queue in queues}


def test_the_members_of_a_rocketmq_group_keep_their_client_ids() -> None:
    plan = json.loads(of_captures("--group", "pay_avg_5", "--to", "AVG_BY_CIRCLE", "--format", "json").stdout)
    assert plan["steps"][0]["restart"] == [[f"10.8.0.{number}@i" for number in range(1, 6)]]


def test_what_cannot_be_planned_is_one_line(subtests: pytest.Subtests) -> None:
    for arguments, expected in [
        (["--group", "sink-ads-12", "--to", "range"], "is of the kind unknown"),
        (["--group", "broadcast_3", "--to", "AVG_BY_CIRCLE"], "is of the kind broadcasting"),
        (["--group", "same_ip_3", "--to", "AVG_BY_CIRCLE"], "do not show its members and what each owns"),
        (["--group", "pay_avg_5", "--to", "range"], "is a group of rocketmq, expected a target of it"),
        (["--to", "range"], "the source has 27 groups, expected --group with one of"),
    ]:
        with subtests.test(arguments=arguments, expected=expected):
            found = of_captures(*arguments)
            assert found.exit_code != 0
            assert expected in str(found.exception)


def test_the_report_shows_steps_costs_and_who_owned_what(tmp_path: Path, show: Callable[..., Browser]) -> None:
    path = tmp_path / "plan.html"
    assert called(tmp_path, "--to", "cooperative-sticky", "--seeds", "1", "--report", str(path)).exit_code == 0
    page = path.read_text()
    assert page.count("<svg") == 3
    show(page)
