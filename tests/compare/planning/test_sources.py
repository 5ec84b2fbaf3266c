"""Plans for real groups: what the tools show is planned for, and what they do not show is refused or assumed."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.cli import cli
from compare.planning.document import document
from compare.planning.promises import Promise, Verdict, has_members, have_restarted, judge
from compare.planning.real_groups import of_checked, of_observed
from compare.planning.routes import route, way
from compare.planning.simulating import Timing, costs_of, story_of
from compare.planning.subject import Step
from compare.planning.target import parse
from compare.reading.gather import gather
from compare.reading.observed import ObservedGroup
from protocols import UserError
from tests.compare.browser import Browser
from tests.compare.observed_groups import captured, observed, partitions
from tests.compare.planning.plans import called

CAPTURES = str(Path(__file__).parents[3] / "examples" / "captures")
TARGETS = (
    *("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range", "static", "members=7"),
    *("members=2", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "queues:{topic}=240"),
)
CLIENT_IDS = (
    *("a b", "订单-ü", "a.b.c", "", "consumer-1", "6f1c2a1e-1111-4222-8333-444455556666", "it's", "a:b", "a\\nb"),
    *('say "x"', "x" * 200, "c1..c4", "a,b", "-", "{x}", "a\tb", "null", "1", "a\x1b[31mb", "*", "#x", "a=b", "twice"),
)


def every_group() -> list[ObservedGroup]:
    """Of the captures of the tests and of the examples."""
    return [*(each.observed for each in captured().values()), *gather([CAPTURES]).groups]


def asked(group: ObservedGroup, to: str) -> str:
    """The target, with a topic of the group where it names one."""
    return to.format(topic=group.queues[0].topic if group.queues else "t")


def test_every_target_has_a_plan_or_one_line_why_not_for_every_captured_group() -> None:
    planned, refused = 0, []
    for group in every_group():
        for today in (None, "range" if group.system == "kafka" else "AVG"):
            try:
                subject = of_observed(group, today)
            except UserError as error:
                refused.append(str(error))
                continue
            for to in TARGETS:
                target = parse(asked(group, to))
                try:
                    found = route(subject, target)
                    plan = document(subject, target, found, {}, [""] * len(found.wrong), Timing(), 1)
                except UserError as error:
                    refused.append(str(error))
                    continue
                planned += 1
                for step in plan["steps"]:
                    assert step["text"]
                    assert step["check"]
                    assert f"--check {step['number']} " in step["check_command"]
                    assert {name for wave in step["restart"] for name in wave} <= set(subject.members)
                    without = {key for key, settings in step["settings_by_library"].items() if settings is None}
                    assert set(step["why_not"]) == without
    assert planned > 800
    assert len(refused) > 500
    assert not any("\n" in each for each in refused)


def test_client_ids_of_any_form_are_planned_for_and_named(subtests: pytest.Subtests) -> None:
    for client_id in CLIENT_IDS:
        with subtests.test(client_id=client_id):
            second = client_id if client_id == "twice" else f"{client_id}2"
            owned = {f"{name}-u{at}": partitions("t", at) for at, name in enumerate((client_id, second))}
            made = observed(owned, "range")
            members = zip(made.members or (), (client_id, second), strict=True)
            group = replace(made, members=tuple(replace(member, client_id=name) for member, name in members))
            subject = of_observed(group, None)
            if client_id in ("", "c1..c4", "twice"):
                assert subject.names[0] == f"{client_id}-u0"
            else:
                assert subject.names == [client_id, second]
            for to in ("cooperative-sticky", "uniform", "static", "members=3", "queues:t=4"):
                target = parse(to)
                found = route(subject, target)
                costs = costs_of(subject, found, Timing(), [1], lambda variant: None)
                assert all(cost.unsettled == 0 for cost in costs.values())
                stories = [story_of(subject, wrong, Timing(), lambda record: []) for wrong in found.wrong]
                plan = document(subject, target, found, costs, stories, Timing(), 1)
                if to == "static":
                    ids = [str(own["group.instance.id"]) for own in plan["steps"][0]["settings"].values()]
                    assert len(set(ids)) == 2
                    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,249}", each) for each in ids)


def test_members_are_called_by_client_id_or_instance_id_and_never_by_their_number() -> None:
    plan = json.loads(of_captures("--group", "svc_shipping-v2-09", "--to", "roundrobin", "--format", "json").stdout)
    named = ["consumer-0", "consumer-1", "consumer-2", "consumer-3"]
    assert sorted(plan["steps"][0]["settings"]) == named
    assert all(name in each for name in named for each in [plan["wrong_orders"][0]["story"]])


def test_a_group_that_rebalances_is_planned_for_with_that_said() -> None:
    group = observed({"x": partitions("t", 0), "y": ()}, None, state="PreparingRebalance")
    assert of_observed(group, "range").assumptions[0].startswith("The group rebalances in this source")


def test_members_of_one_client_id_are_named_and_orderly_ones_are_simulated_as_such() -> None:
    groups = {each.observed.name: each.observed for each in captured().values()}
    twins = of_observed(groups["dup_client_id"], "AVG")
    assert twins.assumptions[0].startswith("2 members have the client id 10.2.2.2@same: they take the same queues")
    orderly = of_observed(groups["orderly_3"], None)
    assert orderly.settings == {"orderly": True}
    assert len(orderly.assumptions) == len(twins.assumptions) - 1
    folder = str(Path(__file__).parents[2] / "captures" / "rocketmq" / "groups" / "orderly_3")
    to = ("--to", "CONSISTENT_HASH", "--seeds", "1", "--format", "json")
    plan = json.loads(CliRunner().invoke(cli, ["plan", folder, *to]).stdout)
    assert "no member takes the queues" in plan["wrong_orders"][0]["story"]
    assert "more than once" not in plan["wrong_orders"][0]["story"]


def checked(*arguments: str) -> tuple[int, str]:
    """Exit code and the line of ``plan --check``."""
    found = CliRunner().invoke(cli, ["plan", *arguments], standalone_mode=False)
    assert found.exception is None, found.exception
    (line,) = found.stdout.splitlines()
    code: int = found.return_value  # type: ignore[attr-defined]
    return code, line


TESTS = str(Path(__file__).parents[2] / "captures" / "kafka" / "groups")


def promised(step: Step, before: ObservedGroup | None) -> list[Promise]:
    return [*step.promises, *([have_restarted(step.unseen, before)] if step.unseen else [])]


def test_who_has_restarted_is_told_by_the_ids_before() -> None:
    """What members list no source shows; the step to one assignor alone looks done before it has begun."""
    now, target = (
        observed({"x": partitions("t", 0), "y": partitions("t", 1)}, "sticky", state="Stable"),
        parse("sticky"),
    )
    step = way(of_checked(now, target, "range"), target).steps[1]

    def after(*ids: str) -> Verdict:
        members = [replace(each, id=id) for each, id in zip(now.members or (), ids, strict=True)]
        return judge(promised(step, now), replace(now, members=tuple(members)), 2)

    x, y = [each.id for each in now.members or ()]
    assert (
        "unknown, because the source does not show whether a member lists range still"
        in judge(promised(step, None), now, 2).line
    )
    assert [after(*ids).holds for ids in ((x, y), ("new", y), ("new", "another"))] == [False, False, True]
    assert after("new", y).line.endswith("not as promised: y not restarted")


def test_a_step_is_judged_by_what_the_source_shows_after_it(subtests: pytest.Subtests) -> None:
    unknown = "unknown, because the source does not show"
    for given, code, expected in [
        ("1 orders-svc --to range --from roundrobin --members 3", 0, "as promised, as far as a source shows it: strat"),
        ("1 orders-svc --to range --members 4", 1, "not as promised: 3 members, expected 4"),
        ("1 orders-svc --to sticky", 1, "not as promised: strategy range, expected sticky"),
        ("1 static_members --to static", 0, "a group.instance.id of each of 3 members; state Stable"),
        ("1 orders-svc --to static", 1, "no group.instance.id of orders-"),
        ("1 orders-svc --to members=3", 0, "3 members; state Stable"),
        ("1 orders-svc --to members=9", 1, "3 members, expected 9"),
        ("1 kip848-uniform --to uniform --from range", 1, f"{unknown} group.consumer.migration.policy of "),
        ("2 kip848-mixed --to uniform --from range", 1, "classic protocol still in"),
        ("2 kip848-uniform --to uniform --from range", 0, "consumer protocol; strategy uniform; state Stable"),
        ("2 orders-svc --to uniform", 1, "classic protocol, expected consumer protocol"),
        ("2 orders-svc --to queues:nothing=4", 1, f"{unknown} topic nothing"),
        ("1 orders-svc --to queues:nothing=4", 1, f"{unknown} auto.offset.reset of the members"),
        (
            "2 orders-svc --to range --from roundrobin",
            1,
            f"{unknown} whether a member lists roundrobin",
        ),
        (f"2 orders-svc --to range --from roundrobin --before {TESTS}", 1, "not as promised: orders-"),
    ]:
        with subtests.test(given=given):
            step, group, *more = given.split()
            found, line = checked(TESTS, "--check", step, "--group", group, *more)
            assert expected in line
            assert found == code


def test_the_brokers_settings_are_read_where_they_are_given(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Beside a group of whose coordinator (broker 1) the state view tells."""
    state, *_ = Path(TESTS).glob("*orders-svc.state.txt")
    for settings, expected, code in [
        ({"1": "bidirectional", "2": "UPGRADE"}, "of brokers 1 and 2: UPGRADE and bidirectional; group.coord", 0),
        ({"1": "bidirectional", "2": "disabled"}, "broker 2 has group.consumer.migration.policy=disabled, exp", 1),
        ({"1": "downgrade"}, "not as promised: broker 1 has group.consumer.migration.policy=downgrade, expected", 1),
        ({"1": ""}, "not as promised: broker 1 has no group.consumer.migration.policy, expected bidi", 1),
        ({"2": "bidirectional"}, "does not show group.consumer.migration.policy of broker 1 (kafka-configs.sh", 1),
        ({}, "does not show group.consumer.migration.policy of broker 1 (kafka-configs.sh", 1),
    ]:
        with subtests.test(settings=settings):
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            (folder / "state.txt").write_text(state.read_text())
            for broker, policy in settings.items():
                lines = [f"All configs for broker {broker} are:", "  node.id=1 sensitive=false synonyms={}"]
                of = "sensitive=false synonyms={DEFAULT_CONFIG"
                lines += [f"  group.coordinator.rebalance.protocols=classic,consumer {of}:g=classic,consumer}}"]
                lines += [f"  group.consumer.migration.policy={policy} {of}:g=bidirectional}}"] * bool(policy)
                (folder / f"{broker}.txt").write_text("\n".join(lines) + "\n")
            found, line = checked(str(folder), "--to", "uniform", "--from", "range", "--check", "1")
            assert expected in line
            assert found == code


def test_what_a_source_does_not_show_is_unknown_and_never_as_promised(tmp_path: Path) -> None:
    (tmp_path / "offsets.txt").write_text((Path(TESTS) / "g00-orders-svc.offsets.txt").read_text())
    for to, expected in [
        ("sticky", "unknown, because the source does not show the strategy (--describe --state does)"),
        ("static", "unknown, because the source does not show which members are static (--describe --members does)"),
        ("members=3", "unknown, because the source does not show how many members there are"),
    ]:
        found, line = checked(str(tmp_path), "--to", to, "--check", "1")
        assert (found, expected in line) == (1, True)


def test_every_step_of_every_captured_group_can_be_checked_and_none_is_done_by_accident() -> None:
    lines = []
    for group in every_group():
        for to in TARGETS:
            target = parse(asked(group, to))
            try:
                steps = way(of_checked(group, target, None), target).steps
            except UserError as error:
                lines.append(str(error))
                continue
            for number, step in enumerate(steps, 1):
                verdict = judge(promised(step, None), group, number)
                lines.append(verdict.line)
                if verdict.holds:
                    assert step.promises
                    assert group.state in ("Stable", "ONLINE", None)
                    assert target.strategy in ("", group.strategy)
    assert len(lines) > 1000
    assert not any("\n" in each for each in lines)


def test_while_all_members_are_stopped_no_step_is_done_and_nothing_is_planned() -> None:
    """A step that stops all of them is checked then, too."""
    group = replace(observed({}, None, state="Empty"), members=())
    for to in [each for each in TARGETS if parse(asked(group, each)).system in ("kafka", "")]:
        target = parse(asked(group, to))
        for number, step in enumerate(way(of_checked(group, target, "range"), target).steps, 1):
            assert not judge([*promised(step, None), has_members(3)], group, number).holds
    with pytest.raises(UserError, match="has no members just now, expected a group that runs"):
        of_observed(group, "range")


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
    assert step["start"] == ["consumer-4", "consumer-5"]
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
        (["--group", "sink-ads-12", "--to", "range"], "has no members just now"),
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
