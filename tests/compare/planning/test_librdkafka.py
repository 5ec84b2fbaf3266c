"""Plans for groups with clients of librdkafka: assignors have names there instead of classes, and the two never mix."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.planning.kafka_routes import ASSIGNORS, PACKAGE, PROTOCOL, REMOTE
from compare.planning.routes import route
from compare.planning.subject import Subject, parse
from compare.testing import Clock, Group
from protocols import UserError
from tests.compare.planning.plans import carry_out

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka" / "groups"


def of_capture(to: str) -> dict[str, Any]:
    """The plan for a group of confluent-kafka clients whose view was recorded."""
    files = [str(CAPTURE / f"g31-py-confluent.{view}.txt") for view in ("members-verbose", "offsets-verbose")]
    found = CliRunner().invoke(cli, ["plan", *files, "--to", to, "--from", "range", "--seeds", "2", "--format", "json"])
    assert found.exit_code == 0, found
    document: dict[str, Any] = json.loads(found.stdout)
    return document


def group_of(strategy: str, libraries: dict[str, str]) -> Subject:
    members = {name: {"subscribe": ["orders"]} for name in ("c1", "c2", "c3")}
    return Subject("kafka", "billing", strategy, members, {"orders": 6}, libraries=libraries)


def settings(subject: Subject, to: str) -> list[Any]:
    """The assignors of each member, step by step."""
    steps = route(subject, parse(to)).steps
    return [[step.settings[name].get(ASSIGNORS) for name in subject.names] for step in steps if step.happens]


def test_assignors_have_librdkafkas_names_in_two_rolls() -> None:
    first, second = of_capture("roundrobin")["steps"]
    assert {each[ASSIGNORS] for each in first["settings"].values()} == {"roundrobin,range"}
    assert {each[ASSIGNORS] for each in second["settings"].values()} == {"roundrobin"}


def test_back_from_the_consumer_protocol_the_assignor_has_librdkafkas_name(kafka_group: Group, clock: Clock) -> None:
    subject = group_of("uniform", dict.fromkeys(("c1", "c2", "c3"), "librdkafka"))
    (_, step) = route(subject, parse("range")).steps
    assert dict(step.settings["c1"]) == {PROTOCOL: "classic", REMOTE: None, ASSIGNORS: "range"}
    group = kafka_group(topics={"orders": 6}, members=["c1", "c2", "c3"], strategy="uniform", name="billing")
    printed = {"settings": step.settings, "restart": step.restart, "start": [], "queues": {}}
    carry_out({"downtime_s": 5, "steps": [printed]}, group, clock)


def test_the_way_there_removes_what_the_consumer_protocol_refuses_and_the_way_back_too() -> None:
    there = of_capture("uniform")["steps"][1]
    (changes,) = {json.dumps(each, sort_keys=True) for each in there["settings"].values()}
    assert json.loads(changes) == {
        PROTOCOL: "consumer",
        REMOTE: "uniform",
        **dict.fromkeys((ASSIGNORS, "session.timeout.ms", "heartbeat.interval.ms")),
    }
    assert f"remove {REMOTE}" in there["back"]
    back = route(group_of("uniform", {}), parse("range")).steps[1]
    assert f"remove {ASSIGNORS}" in back.back


def test_each_member_of_a_mixed_group_has_its_own_librarys_spelling() -> None:
    mixed = group_of("range", {"c2": "librdkafka"})
    java = f"{PACKAGE}RoundRobinAssignor"
    assert settings(mixed, "roundrobin") == [
        [f"{java},{PACKAGE}RangeAssignor", "roundrobin,range", f"{java},{PACKAGE}RangeAssignor"],
        [java, "roundrobin", java],
    ]
    cooperative = f"{PACKAGE}CooperativeStickyAssignor"
    assert settings(mixed, "cooperative-sticky") == [[cooperative, "cooperative-sticky", cooperative]]


@pytest.mark.parametrize("today", ["range", "uniform"])
def test_an_assignor_that_librdkafka_lacks_is_refused(today: str) -> None:
    expected = "c1 uses librdkafka, expected an assignor that it has: range, roundrobin, cooperative-sticky"
    with pytest.raises(UserError, match=expected):
        route(group_of(today, {"c1": "librdkafka"}), parse("sticky"))
