"""Recordings of real Kafka clusters: the model does what they did, and a recording that was changed is noticed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.conformance.cases import play_file
from compare.conformance.kafka_recordings import KAFKA
from compare.conformance.players import PLAYERS
from compare.conformance.recordings import play as play_recording
from tests.compare.conformance.kafka_recordings import TRACES, Recorded, events, later, recorded

NOT_MODELLED = {
    "join-kafkajs": "m1 is a kafkajs client, which deals partitions in the order of the broker's metadata",
}


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json")), ids=lambda path: path.stem)
def test_the_model_does_what_the_cluster_did(path: Path) -> None:
    result = play_file(path, PLAYERS)
    if path.stem in NOT_MODELLED:
        assert (result.passed, result.failed, result.skipped) == (0, 0, 1)
        assert result.notes == [f"{path.stem}: {NOT_MODELLED[path.stem]}"]
    else:
        assert result.differences == []
        assert (result.passed, result.failed, result.skipped) == (1, 0, 0)
        assert all(each.passed for each in result.measures)


def test_there_are_recordings() -> None:
    assert len(list(TRACES.glob("*.json"))) == 51


Change = Callable[[Recorded], object]


def _swap_last_assignments(recording: Recorded) -> None:
    one, other = events(recording, "assigned")[-2:]
    for name in ("tp", "all"):
        one[name], other[name] = other[name], one[name]


def _swap_order_of_callbacks(recording: Recorded) -> None:
    mine = [event for event in events(recording, "assigned", "revoked") if event["member"] == "m1"]
    mine[1]["ms"], mine[2]["ms"] = mine[2]["ms"], mine[1]["ms"]


def _move_described_partition(recording: Recorded) -> None:
    one, other = events(recording, "group")[-1]["g"]["members"][:2]
    other["tp"].append(one["tp"].pop())


def _raise(path: Sequence[str], by: float) -> Change:
    """The figure at this path, ``*`` being the last partition, is higher."""

    def change(recording: Recorded) -> None:
        part: Any = recording
        for name in path[:-1]:
            part = part[max(part) if name == "*" else name]
        part[path[-1]] += by

    return change


def _say_in_log(what: str, instead: str) -> Change:
    def change(recording: Recorded) -> None:
        line = next(each for each in reversed(events(recording, "broker")) if what in each["log"])
        line["log"] = line["log"].replace(what, instead)

    return change


CHANGES: dict[str, tuple[str, Change, str]] = {
    "final allocation": ("join-java-range", _swap_last_assignments, "final."),
    "final allocation of librdkafka": (
        "join-confluent-range",
        lambda it: it["events"].remove(events(it, "assigned")[-1]),
        "final.",
    ),
    "described allocation": ("leave-java-coop", lambda it: _take_described(it), "described."),
    "described partition": ("join-java-coop", _move_described_partition, "described."),
    "described state": ("join-java-range", lambda it: events(it, "group")[-1]["g"].update(state="Empty"), "described."),
    "order of callbacks": ("join-java-range", _swap_order_of_callbacks, "callbacks.m1"),
    "kind of callback": ("hang-java-range", lambda it: events(it, "lost")[0].update(ev="revoked"), "callbacks.m2"),
    "a callback too few": (
        "join-java-coop",
        lambda it: it["events"].remove(events(it, "assigned")[-1]),
        "callbacks.",
    ),
    "generation of a callback": (
        "join-java-range",
        lambda it: events(it, "revoked")[0].update(gen=7),
        "callbacks.m1",
    ),
    "whole assignment": ("join-java-coop", lambda it: events(it, "assigned")[-1]["all"].pop(), "events."),
    "number of generations": (
        "crash-java-range",
        lambda it: it["events"].remove(
            next(each for each in events(it, "broker") if "for generation 2" in each["log"])
        ),
        "generations",
    ),
    "number of a generation": ("crash-java-range", _say_in_log("for generation 2", "for generation 3"), "generations"),
    "members of a generation": ("crash-java-range", _say_in_log("has 2 members", "has 3 members"), "generations"),
    "gap": ("crash-java-range", _raise(("per_partition", "*", "longest_unowned_ms"), 5000), "per_partition."),
    "time without owner": ("leave-java-range", _raise(("per_partition", "*", "unowned_ms"), 3000), "per_partition."),
    "double ownership": ("hang-java-coop", _raise(("per_partition", "*", "double_owned_ms"), 3000), "per_partition."),
    "first owner": ("join-java-range", _raise(("per_partition", "*", "first_owned_ms"), 9000), "per_partition."),
    "total gap": ("crash-java-range", _raise(("totals", "unowned_partition_ms"), 5000), "totals."),
    "total of callbacks": ("crash-java-range", _raise(("totals", "callbacks"), 1), "totals."),
    "silence": ("crash-java-range", _raise(("per_partition", "*", "longest_silence_ms"), 9000), "longest_silence_ms"),
    "records again": (
        "crash-java-range",
        _raise(("per_partition", "*", "records_delivered_again"), 90),
        "records_delivered_again",
    ),
    "everything after the crash is later": (
        "crash-java-range",
        lambda it: later(it, next(each["ms"] for each in events(it, "step") if each["what"] == "kill -9"), 9000),
        "rebalance after generation 1 begins after the kill of m2",
    ),
    "everything after the leave is later": (
        "leave-java-coop",
        lambda it: later(it, next(each["ms"] for each in events(it, "closed")), 9000),
        "generation 2 is complete after the close of m2",
    ),
}


def _take_described(recording: Recorded) -> None:
    events(recording, "group")[-1]["g"]["members"][0]["tp"].pop()


@pytest.mark.parametrize(("name", "change", "field"), CHANGES.values(), ids=CHANGES)
def test_a_changed_value_is_noticed(name: str, change: Change, field: str) -> None:
    recording = recorded(name)
    change(recording)
    fields = [each.field for each in play_recording(KAFKA, recording).differences]
    assert any(each.startswith(field) for each in fields), fields


def test_what_was_measured_is_shown_on_demand() -> None:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["conformance", *arguments])
        assert done.exit_code == 0
        return done.output

    path = str(TRACES / "crash-java-range.json")
    assert run(path).splitlines() == [f"{path}: 1 passed, 0 failed, 0 skipped"]
    shown = run(path, "--verbose")
    assert "rebalance after generation 1 begins after the kill of m2, ms" in shown
    assert "5901.1" in shown
    assert "rebalance after generation 1 begins" in run(path, "--verbose", "--format", "markdown")
    [file] = json.loads(run(path, "--format", "json"))["files"]
    [row] = [each for each in file["measures"] if "begins after the kill of m2" in each["quantity"]]
    assert row["real"] == pytest.approx(5901.1)
    assert row["allowed"][0] < row["model"][0] <= row["model"][1] < row["allowed"][1]
    assert row["passed"] is True
