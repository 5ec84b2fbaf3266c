"""A group's own settings, as `kafka-configs --entity-type groups` sets them: what brokers take, and what they do."""

from typing import Any

import pytest

from kafka_coordinator.coordinator.settings import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    BrokerSettings,
    checked,
    with_settings,
)
from protocols.errors import UserError
from protocols.scenario.events import BrokerEvent, Configure, Crash, Event
from tests.kafka_coordinator.kafka_stories import Story, at
from tests.rows import rows

SMALL = {
    "group.consumer.min.session.timeout.ms": 6_000,
    "group.consumer.session.timeout.ms": 40_000,
    "group.consumer.max.session.timeout.ms": 40_000,
}
SLOW = {"group.consumer.min.heartbeat.interval.ms": 6_000, "group.consumer.heartbeat.interval.ms": 7_000}

ANSWERS: list[tuple[dict[str, int], dict[str, int], str]] = [
    ({}, {}, ""),
    ({}, {SESSION_TIMEOUT: 50_000, HEARTBEAT_INTERVAL: 7_000}, ""),
    ({}, {SESSION_TIMEOUT: 44_999}, "session at least group.consumer.min.session.timeout.ms"),
    ({}, {SESSION_TIMEOUT: 60_001}, "session at most group.consumer.max.session.timeout.ms"),
    ({}, {HEARTBEAT_INTERVAL: 4_999}, "heartbeat at least group.consumer.min.heartbeat.interval.ms"),
    ({}, {HEARTBEAT_INTERVAL: 15_001}, "heartbeat at most group.consumer.max.heartbeat.interval.ms"),
    ({}, {HEARTBEAT_INTERVAL: 15_000}, ""),
    (SMALL, {HEARTBEAT_INTERVAL: 6_000}, "session at most group.consumer.max.session.timeout.ms"),
    (SMALL, {SESSION_TIMEOUT: 10_000, HEARTBEAT_INTERVAL: 6_000}, ""),
    (SMALL, {SESSION_TIMEOUT: 6_000, HEARTBEAT_INTERVAL: 6_000}, "session more than consumer.heartbeat.interval.ms"),
    (SMALL, {SESSION_TIMEOUT: 6_000, HEARTBEAT_INTERVAL: 7_000}, "session more than consumer.heartbeat.interval.ms"),
    (SLOW, {SESSION_TIMEOUT: 50_000}, "heartbeat at least group.consumer.min.heartbeat.interval.ms"),
    (SLOW, {HEARTBEAT_INTERVAL: 6_000}, ""),
]
"""Settings of a broker and of a group, and what `GroupConfig.validate` of the released Kafka 4.1.0 answers: empty where
it takes them, else which setting it names and the bound. A setting that is left out has Kafka's own default there."""


@rows(("broker", "own", "answer"), ANSWERS)
def test_a_broker_takes_and_refuses_what_the_released_one_does(
    broker: dict[str, int], own: dict[str, int], answer: str
) -> None:
    settings = with_settings(BrokerSettings(), broker, "test")
    if not answer:
        assert checked(own, settings, "group g") == own
        return
    which, _, bound = answer.partition(" ")
    with pytest.raises(UserError) as refused:
        checked(own, settings, "group g")
    assert str(refused.value).startswith(f"group g: consumer.{which}.")
    assert f"expected {bound}, which is " in str(refused.value)


@rows("value", [0, "50000", 50_000.0, True, 2**31])
def test_a_setting_is_a_whole_number(value: object) -> None:
    with pytest.raises(
        UserError, match=r"^group g: setting consumer\.session\.timeout\.ms: .*, expected a whole number"
    ):
        checked({SESSION_TIMEOUT: value}, BrokerSettings(), "group g")


def test_a_setting_that_groups_do_not_have_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"^group g: unknown setting 'session\.timeout\.ms' of a group, expected one of"
    ):
        checked({"session.timeout.ms": 50_000}, BrokerSettings(), "group g")


def configure(seconds: float, **settings: int | None) -> Configure:
    named = {f"consumer.{name.replace('_', '.')}.ms": value for name, value in settings.items()}
    return Configure(at=at(seconds), configure="g", settings=named)


def taken_over(events: list[Event], **more: Any) -> float:
    """When c1 has what c2, which crashes at 100 s, had; in seconds."""
    story = Story("kafka:uniform", topics={"t": 4}, events=[*events, Crash(at=at(100), crash="c2")], **more)
    (found,) = [now / 1000 for now, queues in story.until(200).beliefs("c1") if now > 100_000 and len(queues) == 4]
    return found


def test_a_group_s_session_timeout_counts_from_the_beginning_or_from_an_event_on() -> None:
    """A member that crashed is removed after the session timeout, counted from its last heartbeat."""
    default, longer = taken_over([]), taken_over([], group_settings={SESSION_TIMEOUT: 60_000})
    assert 140 < default < 150.1
    assert 155 < longer < 165.1
    assert taken_over([configure(50, session_timeout=60_000)]) == pytest.approx(longer, abs=0.02)
    back = [configure(50, session_timeout=60_000), configure(70, session_timeout=None)]
    assert taken_over(back) == pytest.approx(default, abs=0.02)


def test_a_broker_that_returns_knows_the_settings() -> None:
    events: list[Event] = [
        BrokerEvent(at=at(20), broker="b1", does="stop"),
        BrokerEvent(at=at(30), broker="b1", does="return"),
    ]
    longer = {SESSION_TIMEOUT: 60_000}
    assert 155 < taken_over(events, group_settings=longer, brokers=("b1",)) < 165.1


def test_what_an_event_will_set_is_checked_before_the_run() -> None:
    with pytest.raises(UserError, match=r"^group g: consumer\.session\.timeout\.ms is 6000, expected at least group\."):
        Story("kafka:uniform", events=[configure(50, session_timeout=6_000)])
    with pytest.raises(UserError, match=r"expected at least group\.consumer\.min\.heartbeat\.interval\.ms"):
        Story("kafka:range", group_settings={HEARTBEAT_INTERVAL: 1})
    Story("kafka:uniform", settings=SMALL, events=[configure(50, session_timeout=6_000)])
