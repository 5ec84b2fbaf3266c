"""`equipoise plan`: every plan is carried out in the simulation, and keeps what it promises."""

from pathlib import Path

import pytest

from compare.testing import Clock, Group
from kafka_coordinator.cluster.views import description_of
from tests.compare.planning.plans import SCENARIO, called, carry_out, planned

TOPICS = {"orders": 8, "payments": 2}
MEMBERS = ["c1", "c2", "c3", "c4"]


def group_of(make: Group, strategy: str, **settings: object) -> Group:
    return make(topics=TOPICS, members=MEMBERS, strategy=strategy, name="billing", produce=10, settings=settings)


@pytest.mark.parametrize("to", ["uniform", "server-range"])
def test_all_orders_of_two_restarts_are_safe_for_members_that_leave(to: str, tmp_path: Path) -> None:
    scenario = SCENARIO.replace("load:", "versions: {kafka: 4.4}\nload:")
    proof = planned(tmp_path, to, "--from", "range", seeds=1, scenario=scenario)["proof"]
    assert (proof["step"], proof["members"], proof["complete"], proof["unsafe"]) == (2, 2, True, [])
    told = called(tmp_path, "--to", to, "--from", "range", "--seeds", "1", scenario=scenario).stdout
    assert "All orders of 2 restarts explored: safe (step 2 with 2 members and 4 partitions" in " ".join(told.split())


def test_a_static_member_whose_first_answer_is_late_ends(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("kafka:range", "kafka:range+static").replace("load:", "versions: {kafka: 4.4}\nload:")
    found = planned(tmp_path, "uniform", "--from", "range+static", seeds=1, scenario=scenario)["proof"]
    unsafe = {each["property"]: each for each in found["unsafe"]}
    assert unsafe["fair-share"]["story"][-1] == "from here on c1 owns nothing and is not in the group"
    assert "fewer members than run" in unsafe["fair-share"]["check"]
    assert "without CONSUMER-ID" in unsafe["every-queue-owned"]["check"]


def test_only_the_way_to_the_consumer_protocol_is_explored(tmp_path: Path) -> None:
    assert planned(tmp_path, "sticky", "--from", "range", seeds=1)["proof"] is None


def test_another_assignor_in_two_rolls(
    subtests: pytest.Subtests, tmp_path: Path, kafka_group: Group, clock: Clock
) -> None:
    for before, after in [
        ("range", "cooperative-sticky"),
        ("range", "roundrobin"),
        ("roundrobin", "sticky"),
        ("sticky", "cooperative-sticky"),
        ("cooperative-sticky", "range"),
        ("cooperative-sticky", "sticky"),
    ]:
        with subtests.test(before=before, after=after):
            plan = planned(tmp_path, after, "--from", before)
            assert (plan["group"], plan["from"], plan["to"]) == ("billing", before, after)
            assert len(plan["steps"]) == 2
            group = group_of(kafka_group, before)
            carry_out(plan, group, clock)
            shown = description_of(group.world.cluster, "billing")  # type: ignore[arg-type]
            assert shown is not None
            assert (shown.protocol, shown.state) == (after, "Stable")
            assert sorted(group.members) == MEMBERS
            for step in plan["steps"]:
                cost = step["cost"]
                assert cost["double_owned_queue_s"] == 0
                assert cost["unsettled_runs"] == 0
                assert 0 < cost["pause_s"]["p50"] <= cost["pause_s"]["p95"] < 30
            group.assert_no_double_ownership()


@pytest.mark.parametrize(
    ("before", "after"),
    [("range", "uniform"), ("cooperative-sticky", "server-range"), ("uniform", "sticky"), ("uniform", "server-range")],
)
def test_to_the_consumer_protocol_and_back(
    before: str, after: str, tmp_path: Path, kafka_group: Group, clock: Clock
) -> None:
    plan = planned(tmp_path, after, "--from", before)
    group = group_of(kafka_group, before)
    carry_out(plan, group, clock)
    shown = description_of(group.world.cluster, "billing")  # type: ignore[arg-type]
    assert shown is not None
    assert (shown.protocol, shown.state) == (after.removeprefix("server-"), "Stable")
    group.assert_no_double_ownership()
    assert all(step["cost"] is None or step["cost"]["unsettled_runs"] == 0 for step in plan["steps"])


def test_settings_that_the_consumer_protocol_refuses_are_removed(
    tmp_path: Path, kafka_group: Group, clock: Clock
) -> None:
    settings = "settings: {session.timeout.ms: 10000, heartbeat.interval.ms: 2000}"
    text = SCENARIO.replace("[kafka:range,", f"[{{system: kafka:range, {settings}}},")
    plan = planned(tmp_path, "uniform", "--from", "kafka:range", scenario=text)
    assert plan["steps"][1]["settings"]["c1"]["session.timeout.ms"] is None
    group = kafka_group(topics=TOPICS, members=_with_own_timeouts(), strategy="range", name="billing", produce=10)
    carry_out(plan, group, clock)
    assert sorted(group.members) == MEMBERS


def _with_own_timeouts() -> dict[str, dict[str, object]]:
    own = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 2_000}
    return {name: {"subscribe": list(TOPICS), "settings": own} for name in MEMBERS}


def test_brokers_that_do_not_convert_refuse_the_first_member(tmp_path: Path) -> None:
    (wrong,) = planned(tmp_path, "uniform", "--from", "range", seeds=1)["wrong_orders"]
    assert "poll() of c1 throws: GROUP_ID_NOT_FOUND" in wrong["story"]


def test_the_cost_is_that_of_the_group_that_does_it(tmp_path: Path, kafka_group: Group, clock: Clock) -> None:
    plan = planned(tmp_path, "cooperative-sticky", seeds=20)
    group = group_of(kafka_group, "range")
    group.settle()
    began = clock.now
    carry_out(plan, group, clock)
    waited: dict[object, float] = {}
    for gap in group.timeline.gaps:
        if gap.since >= began * 1000:
            assert gap.until is not None
            waited[gap.queue] = waited.get(gap.queue, 0.0) + (gap.until - gap.since) / 1000
    promised = [step["cost"]["pause_s"] for step in plan["steps"]]
    assert max(waited.values()) <= 2 * sum(each["p95"] for each in promised)
    assert sum(waited.values()) / len(waited) >= 0.2 * sum(each["p50"] for each in promised)


def test_one_roll_alone_ends_members_and_the_plan_says_so(tmp_path: Path, kafka_group: Group, clock: Clock) -> None:
    plan = planned(tmp_path, "cooperative-sticky", seeds=1)
    (wrong,) = plan["wrong_orders"]
    assert "INCONSISTENT_GROUP_PROTOCOL" in wrong["text"]
    assert "poll() of c1 throws: INCONSISTENT_GROUP_PROTOCOL" in wrong["story"]
    group = group_of(kafka_group, "range").settle()
    group.leave("c1")
    clock.advance(seconds=5)
    group.join("c1", strategy="cooperative-sticky")
    clock.advance(minutes=1)
    assert not group.owners()["c1"]


@pytest.mark.parametrize(
    ("before", "after"), [("AVG", "AVG_BY_CIRCLE"), ("AVG_BY_CIRCLE", "AVG"), ("AVG", "CONSISTENT_HASH")]
)
def test_rocketmq_stops_all_members_first(
    before: str, after: str, tmp_path: Path, rocketmq_group: Group, clock: Clock
) -> None:
    plan = planned(tmp_path, after, "--from", before)
    (step,) = plan["steps"]
    assert step["restart"] == [MEMBERS]
    assert step["cost"]["double_owned_queue_s"] == 0
    carry_out(plan, group_of(rocketmq_group, before), clock)


def test_a_rolling_restart_in_rocketmq_leaves_queues_with_two_owners_and_with_none(tmp_path: Path) -> None:
    plan = planned(tmp_path, "AVG_BY_CIRCLE", "--gap", "60s", seeds=1)
    (wrong,) = plan["wrong_orders"]
    assert "own the same queues at once" in wrong["story"]
    assert "makes no progress" in wrong["story"]


def test_static_members_restart_without_moving_anything(tmp_path: Path, kafka_group: Group, clock: Clock) -> None:
    plan = planned(tmp_path, "static")
    assert plan["steps"][0]["settings"]["c2"] == {"group.instance.id": "c2"}
    group = group_of(kafka_group, "range")
    carry_out(plan, group, clock)
    before, since = group.owners(), clock.now
    group.leave("c3")
    clock.advance(seconds=20)
    group.join("c3").settle()
    assert group.owners() == before
    group.assert_moves_at_most(0, since=since)
    assert "FENCED_INSTANCE_ID" in plan["wrong_orders"][0]["story"]


def test_new_members_start_together(tmp_path: Path, kafka_group: Group, clock: Clock) -> None:
    plan = planned(tmp_path, "members=6", "--from", "range")
    assert plan["steps"][0]["start"] == ["c5", "c6"]
    group = group_of(kafka_group, "range")
    carry_out(plan, group, clock)
    assert sorted(group.members) == [*MEMBERS, "c5", "c6"]


def test_one_new_member_starts_with_nobody(tmp_path: Path) -> None:
    (step,) = planned(tmp_path, "members=5", "--from", "range", seeds=1)["steps"]
    assert step["text"].startswith("Start the new member.")
    assert step["back"] == "Stop the new member properly."


def test_more_members_than_queues_are_told_to_be_idle(tmp_path: Path) -> None:
    (step,) = planned(tmp_path, "members=12", "--from", "range", seeds=1)["steps"]
    assert "2 members will own nothing: there are 10 queues" in step["text"]


def test_more_partitions_come_after_a_setting_that_skips_nothing(
    tmp_path: Path, kafka_group: Group, clock: Clock
) -> None:
    text = SCENARIO.replace("[kafka:range,", "[{system: kafka:range, settings: {auto.offset.reset: latest}},")
    plan = planned(tmp_path, "queues:orders=12", "--from", "kafka:range", scenario=text)
    first, second = plan["steps"]
    assert first["settings"]["c1"] == {"auto.offset.reset": "earliest"}
    assert second["commands"] == ["kafka-topics.sh --bootstrap-server HOST:9092 --alter --topic orders --partitions 12"]
    group = group_of(kafka_group, "range", **{"auto.offset.reset": "latest"})
    carry_out(plan, group, clock)
    assert len(group.topics["orders"]) == 12
    assert not group.never_handled()


def test_where_new_partitions_are_read_from_the_beginning_one_step_is_enough(tmp_path: Path) -> None:
    plan = planned(tmp_path, "queues:orders=12", "--from", "range", seeds=1)
    assert len(plan["steps"]) == 1
    assert not plan["wrong_orders"]


def test_a_topic_that_grows_under_latest_skips_records_and_the_plan_says_so(tmp_path: Path) -> None:
    text = SCENARIO.replace("[kafka:range,", "[{system: kafka:range, settings: {auto.offset.reset: latest}},")
    plan = planned(tmp_path, "queues:orders=12", "--from", "kafka:range", seeds=1, scenario=text)
    assert "never handles" in plan["wrong_orders"][0]["story"]


def test_more_queues_in_rocketmq(tmp_path: Path, rocketmq_group: Group, clock: Clock) -> None:
    plan = planned(tmp_path, "queues:orders=12", "--from", "AVG")
    group = group_of(rocketmq_group, "AVG")
    carry_out(plan, group, clock)
    assert len(group.topics["orders"]) == 12


def test_equal_calls_give_equal_bytes_with_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for processors in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda count=processors: count)
        texts.append(called(tmp_path, "--to", "roundrobin", "--seeds", "6", "--format", "json").stdout)
    assert texts[0] == texts[1]


def test_the_steps_are_simulated_with_the_version_that_is_named(tmp_path: Path) -> None:
    options = ("members=8", "--from", "uniform", "--kafka-version")
    before, after = (planned(tmp_path, *options, version) for version in ("4.1", "4.4"))
    settling = [plan["steps"][0]["cost"]["settle_s"] for plan in (before, after)]
    assert settling[1] > settling[0], "those who start together wait for the second target of 4.4"
    assert after["assumptions"][-1] == "Kafka's brokers are of version 4.4, as --kafka-version says."
    assert before["assumptions"][:-1] == after["assumptions"][:-1]


def test_bad_input_is_one_line(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for arguments, expected in [
        (["--to", "rang"], "--to rang: did you mean range?"),
        (["--to", "load-awar"], "--to load-awar: did you mean load-aware?"),
        (["--to", "CONFIG"], "CONFIG needs settings of each member that a plan cannot know"),
        (["--to", "range"], "billing uses range already"),
        (["--to", "AVG", "--from", "range"], "--from range, expected --from with one of"),
        (["--to", "members=2", "--from", "range"], "billing has 4 already, expected more"),
        (["--to", "members=8"], "the scenario does not say which one the group uses today"),
        (["--to", "queues:refunds=4", "--from", "range"], "billing reads orders, payments, expected one"),
        (["--to", "sticky", "--group", "b"], "--group b: the scenario has no such group"),
        (["--to", "sticky", "--gap", "5"], "--gap: 5 has no unit"),
        (["--to", "sticky", "--members", "3"], "--members 3: says how many members a group had, expected --check"),
        (["--to", "sticky", "--check", "1"], "is a scenario, expected what equipoise audit reads"),
        (["--to", "sticky", "--gap", "5s"], "not longer than --downtime 5s"),
    ]:
        with subtests.test(arguments=arguments, expected=expected):
            found = called(tmp_path, "--seeds", "1", *arguments)
            assert found.exit_code != 0
            assert expected in str(found.exception)
            assert "\n" not in str(found.exception)


def test_the_text_names_steps_checks_ways_back_and_costs(tmp_path: Path) -> None:
    told = called(tmp_path, "--to", "cooperative-sticky", "--seeds", "2").stdout
    assert told.startswith("Group billing (kafka): from range to cooperative-sticky\n1. Let every member support both")
    assert "   Restart: c1, c2, c3, c4, one after the other" in told
    assert "   Check: Before each next restart" in told
    assert "   Back: Set partition.assignment.strategy to range alone" in told
    assert "pause p95" in told
    assert "What goes wrong in another order" in told
