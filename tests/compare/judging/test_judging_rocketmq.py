"""Programs that consume from RocketMQ are judged, and the model that they are compared with takes all situations."""

import sys
from pathlib import Path

import pytest

from compare.judging.playing import NOT_REACHED, NOT_TRIED, STILL_OUT, Situation
from compare.judging.rocketmq import play_model
from compare.judging.rocketmq_situations import BOTH, CONCURRENT, ORDERLY, SITUATIONS
from tests.compare.judging.late_leave import LateLeave
from tests.compare.judging.test_judging import judged, refusal

SMALL = Path(__file__).with_name("rocketmq_consumer.py")
FIELDS = "{namesrv} {topic} {group}"
NAMED = {each.name: each for each in SITUATIONS}


def test_a_program_is_judged_by_its_records() -> None:
    found = judged(SMALL, "answers late", "SYSTEM_ERROR on PULL_MESSAGE", code=0, fields=FIELDS)
    late, refused = found["name server answers late"], found["SYSTEM_ERROR on PULL_MESSAGE"]
    assert late["client"] == late["java"] == ["takes queues"]
    assert (refused["client"], refused["java"]) == (["asks again at once"], ["asks again soon"])
    for each in (late, refused):
        assert each["records"]["judged_by"] == "printed lines"
        assert each["records"]["handled"] > 0
        assert (each["records"]["lost"], each["records"]["twice"], each["failure"]) == (0, 0, None)


def test_a_program_that_gives_up_records_after_an_error_loses_them() -> None:
    found = judged(SMALL, "SYSTEM_ERROR on PULL_MESSAGE", code=1, fields=f"{FIELDS} losing")
    (each,) = found.values()
    assert each["records"]["lost"] == 1
    assert each["failure"] == "1 records lost"


def test_what_cannot_be_judged_is_refused_with_one_line() -> None:
    told = refusal(f"{sys.executable} -c 'raise SystemExit(\"wrong topic\")' {FIELDS}")
    assert "did not connect and ended with exit code 1: wrong topic; expected a push consumer" in told
    assert "no {topic}" in refusal("consumer {namesrv}")


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_the_model_takes_every_situation(situation: Situation) -> None:
    for protocol in sorted(situation.protocols):
        did = play_model(situation, protocol)
        assert not {NOT_REACHED, NOT_TRIED, STILL_OUT} & set(did), did


@pytest.mark.parametrize(
    ("name", "protocol", "did"),
    [
        ("another member joins", CONCURRENT, {"gives up queues"}),
        ("another member joins", ORDERLY, {"gives up queues", "gives up locks"}),
        ("frozen until another has its queues", CONCURRENT, {"says who it is", "takes queues"}),
        ("its listener fails on a record", CONCURRENT, {"sends the record back", "takes queues"}),
        ("told to end (SIGTERM)", ORDERLY, {"gives up locks", "commits", "unregisters", "ends"}),
        (
            "SYSTEM_ERROR on GET_CONSUMER_LIST_BY_GROUP, at the start",
            CONCURRENT,
            {"asks again at once", "takes queues"},
        ),
        ("SYSTEM_ERROR on LOCK_BATCH_MQ, at work", ORDERLY, {"asks again at once"}),
        ("no lock on LOCK_BATCH_MQ, at work", ORDERLY, {"asks again at once"}),
        ("SYSTEM_ERROR on PULL_MESSAGE", CONCURRENT, {"asks again soon"}),
        ("PULL_OFFSET_MOVED on PULL_MESSAGE", CONCURRENT, {"asks again soon"}),
    ],
)
def test_what_the_model_does(name: str, protocol: str, did: set[str]) -> None:
    assert set(play_model(NAMED[name], protocol)) == did


def test_a_member_that_ends_takes_its_locks_again_where_a_round_falls_into_its_leave() -> None:
    late = LateLeave()
    assert set(play_model(late.situation, ORDERLY)) == {"gives up locks", "commits", "unregisters", "ends"}
    assert late.locked_again() == {"broker-a": 1, "broker-b": 1}


def test_only_what_concerns_locks_and_failed_records_is_not_for_all() -> None:
    special = {each.name for each in SITUATIONS if each.protocols != BOTH}
    assert special == {
        each.name for each in SITUATIONS if "LOCK_BATCH_MQ" in each.name or "listener fails" in each.name
    }
