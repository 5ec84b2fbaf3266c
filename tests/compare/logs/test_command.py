"""The verb `logs`: its formats and options."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.cli import cli
from tests.compare.logs.judging import files_of
from tests.compare.logs.scoring import INCIDENTS, logs_of, names

REBALANCE = {"at", "stable_at", "took_s", "generation", "cause", "causes", "stated", "unknown", "deploy", "follow_up"}
REBALANCE |= {"member", "evidence"}
REBALANCE |= {"members_before", "members_after", "waited_for", "waited_for_who"}


def logs(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["logs", *arguments])


def storm() -> list[str]:
    return [str(path) for path in logs_of("rebalance-storm-41", "both")]


def test_the_json_document() -> None:
    found = json.loads(logs(*storm(), "--format", "json").output)
    assert set(found) == {"groups", "not_understood", "skipped"}
    group = next(each for each in found["groups"] if each["group"] == "billing-worker")
    assert group["system"] == "kafka"
    assert set(group["zone_offsets"].values()) == {0.0}
    assert all(set(each) >= REBALANCE for each in (*group["rebalances"], *group["events"]))
    first = group["rebalances"][1]
    assert first["cause"] == "poll_interval_exceeded"
    assert first["member"] == "billing-2-142dbb52-f2d0-4c15-9ea7-15dabd216c72"
    assert datetime.fromisoformat(first["at"]) < datetime.fromisoformat(first["stable_at"])
    rows = {row["cause"]: row for row in group["summary"]}
    assert rows["poll_interval_exceeded"]["count"] == 5
    assert rows["poll_interval_exceeded"]["who"] == ["billing-2"]
    assert rows["poll_interval_exceeded"]["paused_s"] > 0


def test_the_remedy_has_the_number_that_was_measured() -> None:
    """Batches took 9 s, 6 s were allowed."""
    told = logs(*storm(), "--group", "billing-worker").output
    assert "5 of 11   poll_interval_exceeded" in told
    assert "Set max.poll.interval.ms to 14000 (the longest batch took 9." in told
    assert "allowed are 6 s" in told


def test_only_the_group_asked_for() -> None:
    told = logs(*storm(), "--group", "billing-worker").output
    assert "orders-svc" not in told
    assert logs(*storm(), "--group", "nobody").exit_code != 0


def test_a_group_that_no_line_names_is_the_one_asked_for() -> None:
    clients = [str(path) for path in files_of("slow-confluent-41", "clients_only")]
    (asked,) = json.loads(logs(*clients, "--group", "thumbs", "--format", "json").output)["groups"]
    (found,) = json.loads(logs(*clients, "--format", "json").output)["groups"]
    assert (asked["group"], found["group"], found["group_from"]) == ("thumbs", None, None)
    assert "--group" in asked["group_from"]
    assert asked["events"] == found["events"]
    others = [*clients, *storm()]  # whose lines name other groups
    assert logs(*others, "--group", "thumbs").exit_code != 0
    told = json.loads(logs(*others, "--group", "billing-worker", "--format", "json").output)["groups"]
    assert [each["group"] for each in told] == ["billing-worker"]


def test_markdown() -> None:
    told = logs(*storm(), "--format", "markdown", "--group", "billing-worker").output
    assert told.startswith("## kafka group billing-worker: 11 rebalances")
    assert "|---" in told or "|:--" in told


def test_the_story() -> None:
    told = logs(*storm(), "--story", "--group", "billing-worker").output.splitlines()
    first = "2026-11-22T01:38:20.425Z: billing-1, billing-2 and billing-3 joined; generation 1 was there after 6.1 s"
    assert told[1].startswith(first)
    slow = "billing-2 left, because a batch took longer than max.poll.interval.ms; generation 2 was there after 0.6 s"
    assert slow in told[2]
    assert "billing-2 polled again and joined again; generation 3" in told[3]
    assert sum("polled again" in line for line in told) == 5


def test_every_cause_has_its_sentence(subtests: pytest.Subtests) -> None:
    for name in names():
        with subtests.test(name=name):
            told = logs(*(str(path) for path in logs_of(name, "both")), "--story").output
            assert "rebalance" in told
            assert not any(
                cause in told for cause in ("member_", "_timeout", "_added", "_changed", "_restart", "{who}")
            )


def test_one_side_says_what_it_cannot_tell() -> None:
    broker = str(INCIDENTS / "storm-28" / "broker.log")
    told = logs(broker, "--group", "legacy-etl").output
    assert "The broker's log alone does not tell" in told
    assert "member_left or poll_interval_exceeded?" in told
    clients = [str(path) for path in logs_of("storm-28", "clients")]
    assert "The clients' logs alone do not tell" in logs(*clients).output


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "+05:30", "+0530"])
def test_a_zone_that_the_logs_do_not_tell(zone: str) -> None:
    broker = str(INCIDENTS / "crash-default-session-41" / "broker.log")
    untold = logs(broker, "--group", "reports")
    assert "Times of broker.log are taken as UTC" in untold.output
    found = json.loads(logs(broker, "--zone", f"broker.log={zone}", "--format", "json", "--group", "reports").output)
    group = found["groups"][0]
    assert group["zone_offsets"] == {"broker.log": 19800.0}
    assert group["rebalances"][0]["at"].startswith("2026-11-22T01:55:52")
    assert group["notes"] == [note for note in group["notes"] if "taken as UTC" not in note]


def test_bad_arguments(subtests: pytest.Subtests) -> None:
    for arguments, line in [
        (["/nowhere.log"], "no such file or folder"),
        (["--zone", "x", "."], "expected NAME=ZONE"),
        (["--zone", "x=Mars/Olympus", "."], "no such zone"),
        ([], "Missing argument"),
    ]:
        with subtests.test(arguments=arguments, line=line):
            answer = logs(*arguments)
            assert answer.exit_code != 0
            assert line in (answer.output + str(answer.exception or ""))


def test_streams_are_named_as_such(tmp_path: Path) -> None:
    member = "app-00000000-0000-0000-0000-000000000001-StreamThread-1-consumer-9d1f9c1e-91b5-4b3a-8a5f-0123456789ab"
    (tmp_path / "broker.log").write_text(
        "[2026-11-22 01:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group app in state"
        f" PreparingRebalance with old generation 0 (__consumer_offsets-1) (reason: Adding new member {member} with"
        " group instance id None; client reason: not provided) (kafka.coordinator.group.GroupCoordinator)\n"
        "[2026-11-22 01:00:03,000] INFO [GroupCoordinator 1]: Stabilized group app generation 1 (__consumer_offsets-1)"
        " with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
    )
    assert "kafka group app of Kafka Streams: 1 rebalance" in logs(str(tmp_path)).output
