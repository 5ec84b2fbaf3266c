"""A recorded night as a scenario: the simulation rebalances as often as the real group did, and less with a remedy."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.cli import cli
from compare.logs.replay_events import possible
from compare.running.systems import read
from tests.compare.logs.scoring import logs_of, names, truth_of


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def rebalances(name: str, folder: Path, *options: str) -> dict[str, int]:
    """Number of rebalances by variant."""
    path = folder / "night.yaml"
    sources = [str(each) for each in logs_of(name, "both")]
    told = invoke("logs", *sources, "--group", truth_of(name)["group"], "--scenario", str(path))
    assert told.exit_code == 0, told.output
    compared = json.loads(invoke("compare", str(path), *options, "--format", "json").stdout)
    return {each["label"]: each["rebalances"] for each in compared["variants"]}


def test_the_simulation_rebalances_as_often_as_the_real_group(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name, slack in [
        ("rebalance-storm-41", 0),
        ("storm-28", 0),
        ("rolling-bounce-41", 0),
        ("crash-39", 0),
        ("partitions-added-39", 0),
        ("mixed-night-41", 2),
        ("mixed-night-39", 2),
        ("kip848-librdkafka-41-debug", 0),
        ("kip848-static-41", 0),
        ("subs-28", 0),
        ("subs-41-debug", 0),
        ("rmq-join", 0),
        ("rmq-clean-leave", 0),
        ("rmq-broker-killed", 0),
        ("rmq-frozen-default", 0),
        ("rmq-queues-changed", 0),
        ("rmq-duplicate-id", 1),
    ]:
        with subtests.test(name=name, slack=slack):
            # A process that is killed or frozen drops its queues in the recorder's view alone.
            real = [each for each in truth_of(name)["rebalances"] if each.get("queues_gained") != 0]
            assert abs(rebalances(name, tmp_path, "--system", "as it was")["as it was"] - len(real)) <= slack


def test_a_storm_ends_with_a_longer_interval(tmp_path: Path) -> None:
    """11 rebalances: one start, five batches of 9 s where 6 s are allowed, five times back again. The consumer protocol
    does not help: a member that is too slow leaves there, too, as in the recording of one."""
    found = rebalances("rebalance-storm-41", tmp_path)
    assert found == {"as it was": 11, "a longer interval": 1, "static members": 1, "the consumer protocol": 11}


def test_slow_batches_of_the_consumer_protocol_end_with_a_longer_interval(tmp_path: Path) -> None:
    """Seven epochs: three members that join within 0.6 s, and two batches of 10 s where 6 s are allowed. The
    simulation does not count epochs that were overtaken before their assignment was taken up, and a member whose batch
    ends before its next heartbeat after the limit stays: when heartbeats come is not in the logs."""
    assert rebalances("kip848-poll-41-debug", tmp_path) == {"as it was": 3, "a longer interval": 2, "static members": 2}
    text = (tmp_path / "night.yaml").read_text(encoding="utf-8")
    assert "system: kafka:uniform," in text
    assert "system: kafka:range" not in text


def test_members_subscribe_as_their_logs_say(tmp_path: Path) -> None:
    rebalances("subs-28", tmp_path)
    written = read(tmp_path / "night.yaml")
    (group,) = written.groups.values()
    assert {member.subscribe for member in group.members.values()} == {("lr.a",)}
    assert [getattr(event, "subscribe", None) for event in written.events] == [
        {"lroute-2": ("lr.a", "lr.b")},
        {"lroute-1": ("lr.b",)},
    ]


def test_a_coordinator_that_was_restarted_is_away_as_long(tmp_path: Path) -> None:
    """SIGTERM, and back after 5 s; the broker had loaded the group some seconds later."""
    rebalances("coordinator-restart-41", tmp_path)
    stop, back = read(tmp_path / "night.yaml").events
    assert (getattr(stop, "does", None), getattr(back, "does", None)) == ("stop", "return")
    assert 5_000 < back.at - stop.at < 15_000


def test_a_frozen_member_of_rocketmq_is_not_noticed_with_a_longer_expiry(tmp_path: Path) -> None:
    """46 s of SIGSTOP; the brokers of the recording dropped silent members after 30 s."""
    found = rebalances("rmq-frozen-short", tmp_path)
    assert found == {"as it was": 3, "a longer expiry": 1, "AVG_BY_CIRCLE": 3, "CONSISTENT_HASH": 3}
    written = read(tmp_path / "night.yaml")
    (event,) = written.events
    assert 45_000 <= getattr(event, "for_", 0) <= 49_000
    assert dict(written.topics["AdTopic"].queues) == {"broker-a": 2, "broker-b": 2}


def test_members_of_rocketmq_keep_their_own_strategies_and_topics(tmp_path: Path) -> None:
    rebalances("rmq-mixed-strategies", tmp_path)
    (group,) = read(tmp_path / "night.yaml").groups.values()
    assert sorted(str(member.strategy) for member in group.members.values()) == ["AVG_BY_CIRCLE", "None", "None"]
    rebalances("rmq-diff-subs", tmp_path)
    (group,) = read(tmp_path / "night.yaml").groups.values()
    assert sorted(member.subscribe for member in group.members.values()) == [("AuditA",), ("AuditA",), ("AuditB",)]


@pytest.mark.parametrize("name", ["rmq-crash", "rmq-frozen-short"])
def test_brokers_alone_are_enough_for_rocketmqs_members(name: str, tmp_path: Path) -> None:
    path = tmp_path / "night.yaml"
    sources = [str(each) for each in logs_of(name, "broker")]
    told = invoke("logs", *sources, "--group", truth_of(name)["group"], "--scenario", str(path))
    assert told.exit_code == 0, told.output
    compared = json.loads(invoke("compare", str(path), "--format", "json").stdout)
    real = [each for each in truth_of(name)["rebalances"] if each.get("queues_gained") != 0]
    assert compared["variants"][0]["rebalances"] == len(real)


def test_static_members_survive_a_rolling_restart(tmp_path: Path) -> None:
    found = rebalances("rolling-bounce-41", tmp_path)
    assert (found["a longer interval"], found["static members"]) == (7, 1)


def test_what_is_written_is_a_scenario_with_the_partitions_of_the_logs(tmp_path: Path) -> None:
    rebalances("rebalance-storm-41", tmp_path)
    written = read(tmp_path / "night.yaml")
    assert set(written.topics) == {"billing.credits", "billing.invoices"}
    assert set(written.groups["billing-worker"].members) == {"billing-1", "billing-2", "billing-3"}


def test_a_group_that_changed_its_protocol_is_not_replayed(tmp_path: Path) -> None:
    sources = [str(each) for each in logs_of("protocol-upgrade-41", "both")]
    told = invoke("logs", *sources, "--group", "news-feed", "--scenario", str(tmp_path / "x.yaml"))
    assert "went from one protocol to the other" in str(told.exception)
    assert not (tmp_path / "x.yaml").exists()


def test_every_recorded_night_can_be_written(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name in [name for name in names() if name != "protocol-upgrade-41"]:
        with subtests.test(name=name):
            path = tmp_path / f"{name}.yaml"
            sources = [str(each) for each in logs_of(name, "both")]
            told = invoke("logs", *sources, "--group", truth_of(name)["group"], "--scenario", str(path))
            assert told.exit_code == 0, told.exception
            assert len(read(path).systems) >= 2


def test_what_a_member_cannot_do_is_not_written() -> None:
    """Two lines about one end, a member that is back before it was ever there."""
    left: dict[str, object] = {"at": "5ms", "leave": "a"}
    told: list[dict[str, object]] = [
        {"at": "9ms", "crash": "a"},
        {"at": "7ms", "subscribe": {"a": ["t"]}},
        left,
        {"at": "3ms", "restart": "b"},
        {"at": "10ms", "restart": "a"},
        {"at": "11ms", "join": "a"},
    ]
    assert possible(told, ["a"]) == [left, {"at": "10ms", "restart": "a"}]


def test_one_group_has_to_be_chosen(tmp_path: Path) -> None:
    sources = [str(each) for each in logs_of("bystander-storm-41", "both")]
    told = invoke("logs", *sources, "--scenario", str(tmp_path / "x.yaml"))
    assert "expected one of them with --group" in str(told.exception)
