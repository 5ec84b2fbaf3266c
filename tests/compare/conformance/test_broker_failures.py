"""Recordings of Kafka brokers that failed: the model does what the real clusters did, and the player sees when not."""

import json
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.broker_failures.kafka import KAFKA_BROKERS
from compare.conformance.cases import MalformedCase
from compare.conformance.recordings import play
from tests.rows import rows

FOLDER = Path(__file__).parents[2] / "captures" / "broker-failures" / "kafka"
RECORDINGS = sorted(FOLDER.glob("*.json"))
RUNS = 6


def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


@rows("file", RECORDINGS)
def test_every_recording_is_one_that_the_model_may_give(file: Path) -> None:
    played = play(KAFKA_BROKERS, recording(file.stem), RUNS)
    assert played.differences == []
    assert len(played.measures) >= 3


def test_what_the_model_cannot_give_is_seen() -> None:
    """A session of 9 s that is said to have ended after 30 s, and partitions that went on before."""
    late = recording("kill-broker-6")
    for event in late["events"]:
        if event["what"] == "broker 3 fenced":
            event["t"] = 44.2
    for queue in late["per_queue"].values():
        if not queue["led_by_the_node"]:
            queue["longest_without_ack_s"] = 0.2
    late["per_queue"]["0"]["records_refused"] = 3
    assert {each.field for each in play(KAFKA_BROKERS, late, RUNS).differences} == {
        "refused",
        "fenced, s after the event",
        "longest without an acknowledged send, s: others",
    }


def test_settings_of_a_recording_are_those_of_its_runs() -> None:
    given = recording("kill-broker-6")
    given["settings"]["broker_changed"]["broker.session.timeout.ms"] = 30_000
    fields = {each.field for each in play(KAFKA_BROKERS, given, RUNS).differences}
    assert "fenced, s after the event" in fields


def test_of_a_disturbed_recording_only_the_order_counts() -> None:
    disturbed = recording("freeze-20s-1")
    disturbed["machine"]["disturbed"] = True
    for queue in disturbed["per_queue"].values():
        queue["longest_without_ack_s"] *= 1.5
    assert play(KAFKA_BROKERS, disturbed, RUNS).differences == []
    for event in disturbed["events"]:
        if event["what"] == "broker 3 fenced":
            event["t"] = 90.0
    assert play(KAFKA_BROKERS, disturbed, RUNS).differences


def test_a_damaged_recording_is_told_with_its_field() -> None:
    damaged = recording("kill-broker-6")
    damaged["per_queue"]["0"]["leader_at_start"] = "two"
    with pytest.raises(MalformedCase, match=r"per_queue\.0\.leader_at_start"):
        play(KAFKA_BROKERS, damaged, RUNS)
