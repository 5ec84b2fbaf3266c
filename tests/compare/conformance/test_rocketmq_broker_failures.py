"""Recordings of RocketMQ brokers that were killed, stopped or frozen, played through the model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.broker_failures.rocketmq import ROCKETMQ_BROKERS
from compare.conformance.cases import MalformedCase
from compare.conformance.recordings import RUNS, play

RECORDINGS = sorted(Path("tests/captures/broker-failures/rocketmq").glob("*.json"))
QUICK = ("controller-kill-1", "masters-kill-1", "sync-kill-slave-1")


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(path for path in RECORDINGS if path.stem == name).read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", QUICK)
def test_a_recorded_outage_lies_in_the_range_of_a_few_runs(name: str) -> None:
    played = play(ROCKETMQ_BROKERS, recorded(name), 6)
    assert not played.differences
    assert len(played.measures) > 10


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_recorded_outage_lies_in_the_range_of_the_runs(path: Path) -> None:
    assert not play(ROCKETMQ_BROKERS, json.loads(path.read_text("utf-8")), RUNS).differences


def _learnt_late(recording: dict[str, Any]) -> None:
    for each in recording["events"]:
        if each["what"] == "producer 'plain' knows {broker-b=6}":
            each["t"] += 60


def _refused(recording: dict[str, Any]) -> None:
    recording["totals"]["plain"]["refusals"] = {"RemotingConnectException": {"n": 300}}


def _never_dropped(recording: dict[str, Any]) -> None:
    for group in recording["group"]:
        group["ownership"] = [each for each in group["ownership"] if each["t"] < recording["event_at"]]


def _silent(recording: dict[str, Any]) -> None:
    for queue in recording["per_queue"]["ordered"].values():
        queue["longest_without_send_s"] = 20.0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_learnt_late, "the producer knows that it is gone"),
        (_refused, "refused"),
        (_never_dropped, "the first consumer drops its queues"),
        (_silent, "its queues without a send"),
    ],
)
def test_a_changed_recorded_value_is_noticed(change: Callable[[dict[str, Any]], None], field: str) -> None:
    recording = recorded("masters-kill-1")
    change(recording)
    assert field in [each.field for each in play(ROCKETMQ_BROKERS, recording, 3).differences]


def test_a_recording_that_lacks_a_part_is_refused_by_the_name_of_the_field() -> None:
    recording = recorded("masters-kill-1")
    del recording["topology"]["node_of_the_event"]
    with pytest.raises(MalformedCase, match=r"topology\.node_of_the_event"):
        play(ROCKETMQ_BROKERS, recording, 1)
