"""The JSON of `compare` is what `compare.documents.comparison` says, field by field, with shared queues and without."""

import json
from typing import Any

import pytest

from compare.documents.comparison import Record, ScenarioDocument, SharedRecord
from compare.running.checks import shares
from compare.running.spread import figure, value_at
from tests.compare.compared import made, ran
from tests.compare.typed_documents import faults


def written(**more: Any) -> dict[str, Any]:
    """A comparison as it is in a file."""
    seeds = more.pop("seeds", ())
    document: dict[str, Any] = json.loads(json.dumps(ran(made(**more), seeds=seeds)[1]))
    return document


def test_every_field_is_told_and_no_other() -> None:
    found = written(seeds=(1, 2), expect={"longest_gap": "1ms"})
    assert faults(found, ScenarioDocument) == []
    assert found["seeds"]
    assert any("why" in check for record in found["variants"] for check in record["checks"])
    assert all(shares(record) and faults(record, SharedRecord) == [] for record in found["variants"])


def test_where_nothing_is_shared_figures_of_sharing_are_null_and_no_others() -> None:
    found = written(systems=[{"system": "rocketmq:AVG", "settings": {"messageModel": "BROADCASTING"}}])
    (record,) = found["variants"]
    assert not shares(record)
    assert faults(found, ScenarioDocument) == []
    assert faults(record, Record) == []
    nulls = {fault.partition(":")[0].rpartition(".")[2] for fault in faults(record, SharedRecord)}
    assert {"moves", "unowned_queue_s", "idle_members", "never_owned_s"} <= nulls
    assert not {"members", "queues", "settle_s", "redelivered"} & nulls


def test_a_path_leads_to_a_number_or_is_refused() -> None:
    record = written(systems=["kafka:range"])["variants"][0]
    assert figure(record, "after.0.fairness.members") == 2
    assert figure(record, "nothing.there") is None
    assert value_at(record, "broadcasting") == []
    for path in ("label", "owners", "label.jain", "settle_s.peak"):
        with pytest.raises((TypeError, ValueError)):
            figure(record, path)
