"""What released brokers answered about who may pop is met, every answer; a changed answer is noticed. Traces of POP are
in `test_rocketmq_traces`."""

import gzip
import json
from pathlib import Path

from compare.conformance.cases import play_file
from compare.conformance.players import PLAYERS
from compare.conformance.rocketmq_pop import play

ANSWERS = Path(__file__).parents[2] / "golden" / "rocketmq" / "pop-assignment.jsonl.gz"


def test_every_recorded_answer_is_met() -> None:
    result = play_file(ANSWERS, PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (2_314, 0, 0)


def test_a_changed_assignment_is_noticed() -> None:
    with gzip.open(ANSWERS, "rt") as lines:
        for case in map(json.loads, list(lines)[::97]):
            for number, call in enumerate(case["calls"]):
                told = call["assignment"]
                for other in ([], None, [*(told or ()), ["broker-z", 0, "POP"]], (told or [])[:-1]):
                    if other != told:
                        calls = [dict(each) for each in case["calls"]]
                        calls[number]["assignment"] = other
                        assert [each.field for each in play(case | {"calls": calls})] == [f"calls[{number}].assignment"]
