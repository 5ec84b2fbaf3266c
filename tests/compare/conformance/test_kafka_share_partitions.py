"""Traces of real share-partitions are met by the version that they name; a change anywhere in a trace is noticed."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.cases import MalformedCase, play_file
from compare.conformance.kafka_share_partitions import play, recognises
from compare.conformance.players import PLAYERS
from kafka_coordinator.versions import VERSIONS
from tests.compare.conformance.planting import noticed, plants, traces

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
OLD, NEW = GOLDEN / "share-partition.jsonl.gz", GOLDEN / "share-partition-4.4.jsonl.gz"


@pytest.mark.parametrize(("path", "count"), [(OLD, 114), (NEW, 316)])
def test_every_trace_is_met_by_the_version_that_it_names(path: Path, count: int) -> None:
    result = play_file(path, PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (count, 0, 0)


def test_a_change_of_any_kind_of_recorded_field_makes_its_trace_fail() -> None:
    unnoticed, kinds = [], set()
    for kind, place, what, plant in plants(itertools.chain(traces(OLD), traces(NEW)), every_change=True):
        kinds.add(kind)
        # Some recordings tell the state after a setting was changed, others do not.
        optional = kind[0] == "set_group_config" and what == "removed"
        if not optional and not noticed(play, plant):
            unnoticed.append((plant["trace_id"], place, what))
    assert unnoticed == []
    named = {name for kind in kinds for name in kind}
    assert {"result", "pending", "completed", "persister_writes", "dlq_calls", "timeline", "persisted"} <= named
    assert {"waiting_fetches_notified", "read_gap", "delivery_complete_count", "batch", "offsets"} <= named


@pytest.mark.parametrize(
    "rule", [rule.name for rule in VERSIONS.rules if rule.name.startswith("share_")], ids=lambda name: name[6:]
)
def test_without_a_rule_of_4_4_a_trace_of_4_4_is_not_met(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = dataclasses.replace(VERSIONS["4.4"], **{rule: False})
    monkeypatch.setattr("compare.conformance.kafka_share_partitions.kafka_version", lambda told: without)
    assert any(noticed(play, trace) for trace in traces(NEW))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"log": [[4, 0]]}, "log"),
        ({"config": {"max_record_locks": 1}}, "delivery_count_limit"),
        ({"kafka": "9.9"}, "kafka"),
        ({"steps": [{"n": 0, "t": 0, "op": "dance", "req": {}}]}, "op"),
        ({"steps": [{"n": 0, "t": 0, "op": "fetch", "req": {}}]}, "member"),
        ({"steps": [{"n": 1, "t": 0, "op": "fetch", "req": {}}]}, "steps[0]"),
        ({"note": 1}, "note"),
    ],
)
def test_a_damaged_trace_says_what_is_wrong(change: dict[str, Any], field: str) -> None:
    trace = {**next(traces(NEW)), **change}
    assert recognises(trace)
    with pytest.raises(MalformedCase) as raised:
        play(trace)
    assert field in raised.value.field
