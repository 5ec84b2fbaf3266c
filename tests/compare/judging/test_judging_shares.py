"""Members of share groups are judged: a careful one is as good as the Java client, each fault is told."""

from pathlib import Path

import pytest

from tests.compare.judging.test_judging import ROOT, judged

CAREFUL = ROOT / "examples" / "clients" / "confluent_kafka_share_consumer.py"
FAULTY = Path(__file__).with_name("share_faults.py")
FIELDS = "{bootstrap} {topic} {group}"

FAULTS = {
    "forgets": ("coordinator moves", "records handled and never acknowledged"),
    "drops": ("it fails once on a record", "1 records lost"),
    "miscounts": ("it fails once on a record", "says attempt 1 of a record whose attempt 2 was the last"),
    "releases": ("it rejects a record", "the record that it was to reject came again"),
    "skips": ("another member crashes with records in hand", "records lost"),
    "accepts all at the end": ("told to end with records in hand", "records lost"),
    "ends at a refusal": ("the locks of its records end", "ended with exit code 3"),
}
"""Fault to a situation in which it is told, and the words."""


def test_a_careful_member_does_what_the_java_client_does() -> None:
    situations = "joins", "fails once", "rejects", "with records in hand", "locks of", "SHARE_SESSION_NOT_FOUND on"
    found = judged(CAREFUL, *situations, code=0)
    for each in found.values():
        assert each["same"], each
        assert (each["failure"], each["records"]["lost"]) == (None, 0), each
        assert each["records"]["handled"] > 0
        assert each["records"]["judged_by"] == "printed lines"
    rejected = found["it rejects a record"]["records"]
    assert rejected["handled"] == rejected["written"] - 1
    assert found["it fails once on a record"]["client"][-1] == "releases the record"


@pytest.mark.parametrize(
    "fault",
    [pytest.param(each, marks=() if each == "accepts all at the end" else pytest.mark.slow) for each in FAULTS],
)
def test_each_fault_is_told(fault: str) -> None:
    situation, failure = FAULTS[fault]
    found = judged(FAULTY, situation, code=1, fields=f"{FIELDS} '{fault}'")[situation]
    assert failure in found["failure"]
