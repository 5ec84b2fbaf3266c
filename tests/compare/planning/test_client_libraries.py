"""Client libraries: what is said of each holds of the real package, and plans speak of hints, conditions and each one's
own way."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.catalogues import CLASSIC, EAGER, SERVER
from compare.cli import cli
from compare.planning.document import PlanDocument, document
from compare.planning.real_groups import of_observed, with_library
from compare.planning.routes import route
from compare.planning.simulating import Timing
from compare.planning.subject import Subject, of_scenario
from compare.planning.target import parse
from compare.reading.client_libraries import (
    ASSIGNORS,
    HEARTBEAT,
    LIBRARIES,
    PROTOCOL,
    REMOTE,
    RESET,
    SESSION,
    hinted_library,
    spelled,
)
from compare.testing import Clock, Group
from protocols import UserError
from tests.compare.compared import made
from tests.compare.observed_groups import observed, partitions
from tests.compare.planning.plans import carry_out

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka" / "groups"
DEFAULTS = {
    "consumer-g-12": "java",
    "rdkafka": "librdkafka",
    "kafka-python-3.0.12": "kafka-python",
    "aiokafka-0.14.0": "aiokafka",
    "sarama": "sarama",
    "kafkajs": "kafkajs",
    "kgo": "franz-go",
}
"""Client id that a library uses if it is given none, in the group g."""


def subject_of(*client_ids: str, strategy: str = "range", instances: bool = False) -> Subject:
    owned = {f"m{n}": partitions("t", n) for n in range(len(client_ids))}
    own = {id: f"i-{id}" for id in owned} if instances else None
    found = observed(owned, strategy, instances=own, consumer_protocol=strategy in SERVER)
    named = zip(found.members or (), client_ids, strict=True)
    members = tuple(replace(each, client_id=client_id) for each, client_id in named)
    return of_observed(replace(found, members=members), None)


def planned(subject: Subject, to: str) -> PlanDocument:
    """The plan's document, of which nothing is simulated."""
    target = parse(to)
    found = route(subject, target)
    return document(subject, target, found, {}, [""] * len(found.wrong), Timing(), 1)


def test_a_library_is_hinted_at_by_its_whole_default_client_id_alone(subtests: pytest.Subtests) -> None:
    assert set(DEFAULTS.values()) == set(LIBRARIES)
    for client_id, library in DEFAULTS.items():
        with subtests.test(client_id=client_id):
            assert hinted_library(client_id, "g", None) == library
            assert hinted_library(f"my-{client_id}", "g", None) == ""
            for strategy in CLASSIC:
                told = [each for each in subject_of(client_id, strategy=strategy).assumptions if "client id" in each]
                hint = f"A hint, no knowledge: {client_id} has the client id that {LIBRARIES[library].name}"
                assert [each.startswith(hint) for each in told] == [True] * (strategy in LIBRARIES[library].assignors)
    for client_id, group, instance in [
        ("consumer-g-1", "h", None),
        ("consumer-g-", "g", None),
        ("consumer-g-x", "g", "y"),
    ]:
        assert hinted_library(client_id, group, instance) == ""
    assert hinted_library("consumer-a-b-pod 1", "a-b", "pod 1") == "java"


def _tries(key: str, assignors: tuple[str, ...]) -> str:
    """The error of the real library when a consumer is made with these assignors; empty: it takes them."""
    option, value = next(iter((spelled(LIBRARIES[key], {ASSIGNORS: ",".join(assignors)}) or {}).items()))
    try:
        if key == "librdkafka":
            confluent = pytest.importorskip("confluent_kafka")
            confluent.Consumer(
                {"group.id": "g", "bootstrap.servers": "127.0.0.1:1", "log_level": 0, option: value}
            ).close()
        elif key == "kafka-python":
            pytest.importorskip("kafka")
            from kafka import KafkaConsumer
            from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
            from kafka.coordinator.assignors.range import RangePartitionAssignor
            from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
            from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

            classes = [
                CooperativeStickyAssignor,
                RangePartitionAssignor,
                RoundRobinPartitionAssignor,
                StickyPartitionAssignor,
            ]
            by_name = {each.__name__: each for each in classes}
            listed = [by_name[each] for each in str(value).strip("[]").split(", ")]
            fields: dict[str, Any] = {option: listed, "bootstrap_servers": "127.0.0.1:1", "api_version": (2, 6)}
            KafkaConsumer(group_id="g", **fields).close()
    except Exception as error:
        return str(error)
    return ""


@pytest.mark.parametrize("key", ["librdkafka", "kafka-python"])
def test_the_real_library_takes_and_refuses_the_lists_that_are_said(key: str) -> None:
    library = LIBRARIES[key]
    for first in library.assignors:
        assert _tries(key, (first,)) == ""
        for second in library.assignors:
            if first != second:
                refused = (first in EAGER) != (second in EAGER) and not library.mixes
                assert bool(_tries(key, (first, second))) == refused, (first, second)


def test_the_real_librdkafka_has_the_assignors_and_refuses_the_settings_that_are_said() -> None:
    consumer = pytest.importorskip("confluent_kafka").Consumer
    given = {"group.id": "g", "bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    for name in CLASSIC:
        if name not in LIBRARIES["librdkafka"].assignors:
            with pytest.raises(Exception, match="Unsupported"):
                consumer({**given, ASSIGNORS: name})
    consumer({**given, PROTOCOL: "consumer", REMOTE: "uniform"}).close()
    for name, value in [(ASSIGNORS, "range"), (SESSION, 10_000), (HEARTBEAT, 1_000)]:
        with pytest.raises(Exception, match="not supported for"):
            consumer({**given, PROTOCOL: "consumer", name: value})


def test_the_real_aiokafka_has_no_cooperative_assignor_no_consumer_protocol_and_no_error_for_a_fenced_member() -> None:
    aiokafka = pytest.importorskip("aiokafka")
    folder = Path(aiokafka.__file__).parent
    assert sorted(each.stem for each in (folder / "coordinator/assignors").glob("[!_]*")) == [
        "abstract", "range", "roundrobin", "sticky",
    ]  # fmt: skip
    assert aiokafka.errors.for_code(82) is aiokafka.errors.UnknownError
    with pytest.raises(TypeError, match="group_protocol"):
        aiokafka.AIOKafkaConsumer(group_protocol="consumer")


def test_where_nothing_hints_at_a_library_steps_are_conditional_and_others_ways_stand_beside(
    subtests: pytest.Subtests,
) -> None:
    plan = planned(subject_of("billing-1", "billing-2"), "cooperative-sticky")
    others = {each["library"]: each for each in plan["other_libraries"]}
    assert set(others) == set(LIBRARIES) - {"java"}
    with subtests.test("librdkafka and kafka-python refuse both in one list"):
        for key in ("librdkafka", "kafka-python"):
            (step,) = others[key]["steps"]
            assert step.startswith("Stop all 2 members (billing-1 and billing-2)")
            assert f"{key} refuses a list of range and cooperative-sticky" in step
            assert plan["steps"][0]["settings_by_library"][key] is None
            assert "another way" in plan["steps"][0]["why_not"][key]
    with subtests.test("aiokafka has no such assignor"):
        assert others["aiokafka"]["steps"] == []
        assert others["aiokafka"]["why"].startswith("aiokafka 0.14.0 has no cooperative-sticky; it has range")
    with subtests.test("KafkaJS has none of today's name"):
        assert "KafkaJS 2.2.4 has no range, which this group uses" in others["kafkajs"]["why"]
    with subtests.test("the same steps with other settings"):
        assert others["franz-go"]["same_steps"]
        same = planned(subject_of("billing-1"), "roundrobin")["steps"][0]["settings_by_library"]
        assert same["librdkafka"] == {ASSIGNORS: "roundrobin,range"}
        assert same["aiokafka"] == {
            "partition_assignment_strategy": "[RoundRobinPartitionAssignor, RangePartitionAssignor]"
        }
    with subtests.test("the consumer protocol"):
        other = {each["library"]: each for each in planned(subject_of("billing-1"), "uniform")["other_libraries"]}
        assert [key for key in other if other[key]["same_steps"]] == ["librdkafka", "franz-go"]
        assert all(
            "does not speak the consumer protocol" in each["why"] for each in other.values() if not each["same_steps"]
        )


def test_the_text_says_that_its_steps_are_for_javas_client_and_how_to_decide() -> None:
    call = ["plan", str(CAPTURE), "--group", "orders-svc", "--to", "cooperative-sticky", "--seeds", "1"]
    told = CliRunner().invoke(cli, call).stdout
    assert "These steps are right if all are Java's clients" in told
    assert "--library names the one" in told
    assert "\n- librdkafka: Stop all 3 members" in told
    assert "\n- aiokafka: no way. aiokafka 0.14.0 has no cooperative-sticky" in told
    told = CliRunner().invoke(cli, [*call, "--library", "librdkafka"]).stdout
    assert "right if all are Java's" not in told
    assert "1. Stop all 3 members (orders-" in told
    assert (
        "The members' library is librdkafka (confluent-kafka, node-rdkafka, rust-rdkafka), as --library says." in told
    )
    assert "--library librdkafka SOURCE" in told


def test_who_cannot_do_it_is_refused_by_the_hint_in_one_line(subtests: pytest.Subtests) -> None:
    for client_id, to, expected in [
        ("aiokafka-0.14.0", "uniform", "m1 has the default client id of aiokafka (and 1 more), which does not speak"),
        ("kafka-python-3.0.12", "server-range", "kafka-python (and 1 more), which does not speak"),
        (
            "sarama",
            "cooperative-sticky",
            "m1 has the default client id of Sarama, which has none of this name (1.61.1)",
        ),
        ("rdkafka", "sticky", "expected an assignor that it has: range, roundrobin, cooperative-sticky"),
    ]:
        with subtests.test(client_id=client_id, to=to):
            subject = subject_of("consumer-g-1", client_id, client_id)
            with pytest.raises(UserError) as refused:
                planned(subject, to)
            assert expected in str(refused.value)
            assert "\n" not in str(refused.value)
            planned(with_library(subject, "java"), to)
    for to, expected in [
        ("roundrobin", "uses KafkaJS, which has none of this name .*, expected another library: the only assignor it"),
        ("static", "c uses KafkaJS, which is not known to have group.instance.id .*, expected another library there$"),
    ]:
        with subtests.test(library="kafkajs", to=to):
            with pytest.raises(UserError, match=expected):
                planned(with_library(subject_of("c"), "kafkajs"), to)
            planned(subject_of("kafkajs"), to)  # a member of a group that uses range is none of KafkaJS as it comes


def test_which_versions_speak_the_consumer_protocol_is_said() -> None:
    notes = planned(subject_of("consumer-g-1", "rdkafka", "kgo"), "uniform")["notes"]
    assert notes[0] == (
        "The consumer protocol needs Java's client 4.0 or later, franz-go 1.22 or later whose program opts in and"
        " librdkafka 2.12 or later; no source shows which version a member has."
    )


def test_each_member_of_a_mixed_group_has_its_own_librarys_spelling() -> None:
    mixed = subject_of("consumer-g-1", "rdkafka", "aiokafka-0.14.0")
    java = "org.apache.kafka.clients.consumer."
    assert [step["settings"] for step in planned(mixed, "roundrobin")["steps"]] == [
        {
            "consumer-g-1": {ASSIGNORS: f"{java}RoundRobinAssignor,{java}RangeAssignor"},
            "rdkafka": {ASSIGNORS: "roundrobin,range"},
            "aiokafka-0.14.0": {
                "partition_assignment_strategy": "[RoundRobinPartitionAssignor, RangePartitionAssignor]"
            },
        },
        {
            "consumer-g-1": {ASSIGNORS: f"{java}RoundRobinAssignor"},
            "rdkafka": {ASSIGNORS: "roundrobin"},
            "aiokafka-0.14.0": {"partition_assignment_strategy": "[RoundRobinPartitionAssignor]"},
        },
    ]
    (step,) = planned(subject_of("consumer-g-1", "rdkafka"), "cooperative-sticky")["steps"]
    assert step["restart"] == [["consumer-g-1", "rdkafka"]]
    assert "static members" not in step["check"].lower()
    (step,) = planned(subject_of("rdkafka", "rdkafka", instances=True), "cooperative-sticky")["steps"]
    assert "Static members stay in the group until session.timeout.ms has passed" in step["check"]


def test_what_code_must_expect_is_named_step_by_step(subtests: pytest.Subtests) -> None:
    for client_id, before, to, expected in [
        ("x", "range", "cooperative-sticky", [[], ["RebalanceInProgressException", "onPartitionsLost", "only the"]]),
        ("x", "range", "sticky", [[], []]),
        ("x", "cooperative-sticky", "range", [["receives all of the member's partitions"], []]),
        ("x", "range", "uniform", [[], ["ConfigException", "UnsupportedAssignor", "onPartitionsLost", "KIP-848"]]),
        ("x", "uniform", "range", [[], ["ConfigException", "receives all of"]]),
        ("x", "range", "static", [["FencedInstanceIdException", "no longer leaves the group"]]),
        ("x", "range", "members=4", [[]]),
        ("x", "range", "queues:t=9", [["old records again"], []]),
        ("rdkafka", "range", "cooperative-sticky", [["incremental_assign()", "ILLEGAL_GENERATION", "on_lost"]]),
        ("kafka-python-3.0.12", "range", "cooperative-sticky", [["RebalanceInProgressError", "on_partitions_lost"]]),
        ("aiokafka-0.14.0", "range", "static", [["UnknownError"]]),
    ]:  # fmt: skip
        with subtests.test(client_id=client_id, before=before, to=to):
            steps = planned(subject_of(client_id, strategy=before), to)["steps"]
            told = [" ".join(step["code_must_expect"]).lower() for step in steps]
            assert [bool(each) for each in told] == [bool(each) for each in expected]
            assert all(word.lower() in text for text, words in zip(told, expected, strict=True) for word in words)
    static = planned(subject_of("x", instances=True), "uniform")["steps"][1]["code_must_expect"]
    assert any("UnreleasedInstanceIdException" in each for each in static)
    assert all("spec" in each or "KIP" in each for each in static)


def test_earliest_is_never_advised_without_its_risk() -> None:
    step = planned(subject_of("a", "b"), "queues:t=9")["steps"][0]
    assert step["settings_by_library"]["aiokafka"] == {"auto_offset_reset": "earliest"}
    assert {json.dumps(each) for each in step["settings"].values()} == {json.dumps({RESET: "earliest"})}
    assert "The risk: where a committed offset is missing" in step["text"]
    assert "read again from its first record" in step["text"]


def test_back_from_the_consumer_protocol_the_assignor_has_librdkafkas_name(kafka_group: Group, clock: Clock) -> None:
    members = {name: {"subscribe": ["orders"]} for name in ("c1", "c2", "c3")}
    subject = with_library(Subject("kafka", "billing", "uniform", members, {"orders": 6}), "librdkafka")
    step = planned(subject, "range")["steps"][1]
    assert step["settings"]["c1"] == {PROTOCOL: "classic", REMOTE: None, ASSIGNORS: "range"}
    group = kafka_group(topics={"orders": 6}, members=["c1", "c2", "c3"], strategy="uniform", name="billing")
    carry_out({"downtime_s": 5, "steps": [step]}, group, clock)


def test_the_way_there_removes_what_the_consumer_protocol_refuses() -> None:
    files = [str(CAPTURE / f"g31-py-confluent.{view}.txt") for view in ("members-verbose", "offsets-verbose")]
    call = ["plan", *files, "--to", "uniform", "--from", "range", "--seeds", "2", "--format", "json"]
    there = json.loads(CliRunner().invoke(cli, call).stdout)["steps"][1]
    (changes,) = {json.dumps(each, sort_keys=True) for each in there["settings"].values()}
    removed = dict.fromkeys((ASSIGNORS, SESSION, HEARTBEAT))
    assert json.loads(changes) == {PROTOCOL: "consumer", REMOTE: "uniform", **removed}
    assert there["settings_by_library"]["librdkafka"] == json.loads(changes)


def test_a_scenarios_members_are_javas_unless_their_client_id_is_anothers() -> None:
    members: dict[str, Any] = {"c1": {"subscribe": ["X"], "client_id": "sarama"}, "c2": ["X"]}
    of = made(group={"name": "g", "members": members}, events=[], systems=["kafka:range"])
    subject = of_scenario(of, None, "kafka", None)
    assert (dict(subject.libraries), subject.untold) == ({"c1": "sarama", "c2": "java"}, [])
    with pytest.raises(UserError, match="c1 has the default client id of Sarama, which does not speak"):
        route(subject, parse(SERVER[0]))
