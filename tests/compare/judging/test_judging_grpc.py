"""Clients of RocketMQ's 5.x line are judged: the released Python client is as good as Java's, each fault is told."""

from pathlib import Path

import pytest

from compare.judging.playing import NOT_REACHED, NOT_TRIED, STILL_OUT
from compare.judging.rocketmq_grpc import SITUATIONS, play_model
from tests.compare.judging.test_judging import ROOT, judged

RELEASED = ROOT / "examples" / "clients" / "rocketmq_python_consumer.py"
FAULTY = Path(__file__).with_name("grpc_faults.py")
FIELDS = "{endpoints} {topic} {group}"

FAULTS = {
    "leaves them": ("told to end with records in hand", "records that it had are hidden after its end"),
    "settings late": ("frozen", "asks for records before it has told its settings"),
    "no heartbeat": ("nothing happens for 25 s", "sends no heartbeat in 20 s"),
    "old handle": ("frozen", "names a handle that a change of the invisible time has replaced"),
    "forgets": ("frozen", "records handled and never acknowledged"),
    "drops": ("it fails once on a record", "1 records lost"),
    "miscounts": ("it fails once on a record", "says attempt 1 of a record whose attempt 2 was the last"),
    "reverses": ("in order", "of a queue before record"),
    "ends at an error": ("INTERNAL_SERVER_ERROR on ReceiveMessage", "ended with exit code 3"),
}
"""Fault to a situation in which it is told, and the words."""


def test_the_released_push_consumer_does_what_the_java_client_does() -> None:
    situations = "frozen", "with records in hand", "in order: ", "SERVER_ERROR on ReceiveMessage", "on AckMessage"
    found = judged(RELEASED, *situations, code=0, fields=FIELDS)
    for each in found.values():
        assert each["same"], each
        assert (each["failure"], each["records"]["lost"]) == (None, 0), each
        assert each["records"]["judged_by"] == "printed lines"
        assert each["records"]["handled"] > 0


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=() if each == "leaves them" else pytest.mark.slow) for each in FAULTS]
)
def test_each_fault_is_told(fault: str) -> None:
    situation, failure = FAULTS[fault]
    found = judged(FAULTY, situation, code=1, fields=f"{FIELDS} '{fault}'")
    assert any(failure in (each["failure"] or "") for each in found.values()), found


def test_the_model_takes_every_situation() -> None:
    for situation in SITUATIONS:
        if not situation.java:
            for kind in sorted(situation.protocols):
                did = play_model(situation, kind)
                assert {NOT_REACHED, NOT_TRIED, STILL_OUT}.isdisjoint(did), (situation.name, did)
