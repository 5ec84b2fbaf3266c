"""Settings of one member for several systems: each takes its own, and only what nobody has is refused."""

from typing import Any

import pytest

from compare.running.systems import known_strategies, with_own_settings
from protocols import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario
from tests.compare.compared import ran


def of(settings: dict[str, Any], systems: list[str], **more: Any) -> Scenario:
    members = {"c1": {"subscribe": ["T"], "settings": settings}, "c2": ["T"]}
    return scenario(
        {
            "name": "one member for two systems",
            "topics": {"T": 4},
            "group": {"name": "g", "members": members},
            "load": {"produce": "10/s"},
            "run": {"for": "2min", "seed": 1},
            "systems": systems,
            **more,
        },
        registered=known_strategies(),
    )


def test_what_config_needs_of_a_member_is_nothing_to_the_other_variants_that_there_are_by_default() -> None:
    made = of({"message_queue_list": [("T", "broker-a", 0)]}, ["kafka:range", "rocketmq:AVG", "rocketmq:CONFIG"])
    found = {
        each["label"]: [queue for queue in each["owners"]["c1"] if queue[0] == "T"] for each in ran(made)[1]["variants"]
    }
    assert found == {
        "kafka:range": [["T", "", 0], ["T", "", 1]],
        "rocketmq:AVG": [["T", "broker-a", 0], ["T", "broker-a", 1]],
        "rocketmq:CONFIG": [["T", "broker-a", 0]],
    }


def test_config_takes_no_queue_of_a_topic_that_the_member_does_not_read() -> None:
    with pytest.raises(UserError, match=r"^member c1: message_queue_list names a queue of 'U', expected .* to: T$"):
        ran(of({"message_queue_list": [("T", "broker-a", 0), ("U", "broker-a", 0)]}, ["rocketmq:CONFIG"]))


@pytest.mark.parametrize("system", ["kafka:range", "kafka-zookeeper:range", "rocketmq:AVG"])
def test_what_no_system_has_is_refused_in_one_line(system: str) -> None:
    with pytest.raises(UserError, match=r"^member c1: unknown setting 'pullBatchSiz', did you mean pullBatchSi"):
        ran(of({"session.timeout.ms": 6000, "pullBatchSiz": 1}, [system]))


GROUP = {"consumer.session.timeout.ms": 60_000}


def of_group(settings: dict[str, Any], systems: list[str], *later: dict[str, Any]) -> Scenario:
    members = {"c1": ["T"], "c2": ["T"]}
    events = [*later, {"at": "30s", "crash": "c1"}]
    return of({}, systems, group={"name": "g", "members": members, "settings": settings}, events=events)


def test_a_group_s_settings_count_where_they_are_known_and_are_passed_over_elsewhere() -> None:
    systems = ["kafka:uniform", "kafka:uniform+static", "kafka:range", "kafka-zookeeper:range", "rocketmq:AVG"]
    later = {"at": "20s", "configure": "g", "settings": GROUP}
    without, beginning, event = (
        {each["label"]: each["longest_gap_s"] for each in ran(scenario)[1]["variants"]}
        for scenario in (of_group({}, systems), of_group(GROUP, systems), of_group({}, systems, later))
    )
    assert beginning == event
    for system in systems:
        if system.startswith("kafka:uniform"):
            assert without[system] < 50.1 < 55 < beginning[system]
        else:
            assert without[system] == beginning[system]


@pytest.mark.parametrize("system", ["kafka:uniform", "rocketmq:AVG"])
def test_a_setting_of_a_group_that_no_system_has_is_refused(system: str) -> None:
    known = "did you mean consumer.session.timeout.ms?"
    wrong = {"consumer.sessions.timeout.ms": 1}
    with pytest.raises(UserError, match=rf"^group g: unknown setting 'consumer\.sessions\.timeout\.ms', {known}"):
        with_own_settings(of_group(wrong, [system]), system)
    with pytest.raises(UserError, match=r"^group g: unknown setting"):
        with_own_settings(of_group({}, [system], {"at": "20s", "configure": "g", "settings": wrong}), system)


def test_an_event_that_configures_what_cannot_be_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for event, problem in [
        (
            {"configure": "gg", "settings": GROUP},
            "unknown group 'gg', did you mean|unknown group 'gg', expected one of g",
        ),
        ({"configure": "g"}, r"settings: no settings, expected at least one such as"),
        ({"configure": "g", "settings": [1]}, "is no mapping"),
        ({"configure": "g", "setting": GROUP}, "unknown field 'setting', did you mean settings"),
    ]:
        with subtests.test(event=event, problem=problem):
            with pytest.raises(UserError, match=problem) as refused:
                of_group({}, ["kafka:uniform"], {"at": "20s", **event})
            assert "\n" not in str(refused.value)
