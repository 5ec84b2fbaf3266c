"""The audit's JSON is what `compare.documents.audit` says, field by field: for `--format json`, and for the report."""

import json
from typing import Any

import pytest

from compare.auditing.group_figures import judge
from compare.documents.audit import AuditDocument, GroupRecord, PicturedGroup
from compare.explaining.audited import document
from compare.explaining.diagnosis import explain_all
from compare.reading.gather import gather
from tests.compare.showing import EXAMPLES
from tests.compare.typed_documents import faults


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The audit of the examples as it is in a file, with what the report draws."""
    gathered = gather([str(EXAMPLES)])
    made: dict[str, Any] = json.loads(json.dumps(document(explain_all(judge(gathered.groups)), gathered.skipped, True)))
    return made


def test_every_field_is_told_and_no_other(written: dict[str, Any]) -> None:
    assert faults(written, AuditDocument) == []
    groups = written["groups"]
    assert any(each["detailed"] for each in groups)
    assert any(each["partial"] for each in groups)
    assert any(each["untold"] for each in groups)
    assert any(each["remedies"] for each in groups)


def test_what_the_report_draws_is_no_part_of_a_group_elsewhere(written: dict[str, Any]) -> None:
    group = next(each for each in written["groups"] if each["detailed"])
    assert faults(group, PicturedGroup) == []
    assert ".detailed: not in GroupRecord" in faults(group, GroupRecord)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"jain": "high"}, ".jain: 'high' is no"),
        ({"moods": 1}, ".moods: not in"),
        ({"topics": []}, ".topics: [] is no"),
    ],
)
def test_a_document_that_is_otherwise_is_noticed(written: dict[str, Any], change: dict[str, Any], fault: str) -> None:
    (found,) = faults({**written["groups"][0], **change}, PicturedGroup)
    assert found.startswith(fault)
    without = {name: value for name, value in written["groups"][0].items() if name != "owners"}
    assert faults(without, PicturedGroup) == [".owners: missing"]
