"""What released brokers answered about POP is met, every answer; a recording that is changed anywhere is noticed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.cases import MalformedCase, play_file
from compare.conformance.players import PLAYERS
from compare.conformance.rocketmq_pop import play
from compare.conformance.rocketmq_traces import COMPONENTS
from compare.conformance.rocketmq_traces.steps import play_steps
from tests.compare.conformance.planting import plants, traces

GOLDEN = Path(__file__).parents[2] / "golden" / "rocketmq"
COUNTS = {
    "pop-assignment": 2_314,
    "traces-pop_assignment": 118,
    "traces-pop_messages": 72,
    "traces-pop_messages-5.5": 72,
    "traces-pop_order": 60,
}


@pytest.mark.parametrize("name", COUNTS)
def test_every_recorded_answer_is_met_by_the_version_that_it_names(name: str) -> None:
    result = play_file(GOLDEN / f"{name}.jsonl.gz", PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (COUNTS[name], 0, 0)


@pytest.mark.parametrize("name", list(COUNTS)[1:])
def test_a_change_of_any_kind_of_recorded_field_makes_its_trace_fail(name: str) -> None:
    kinds, unnoticed = set(), []
    for kind, place, what, plant in plants(traces(GOLDEN / f"{name}.jsonl.gz"), every_change=True):
        if place[2] not in ("result", "effects", "state"):
            continue
        kinds.add(kind)
        # Names that the trace gives to what was popped: another name is another name.
        named = place[2:4] == ("result", "new_handle") or (kind[0] == "pop" and place[-1] == 0 and "messages" in place)
        if not (named and isinstance(what, str)) and not _noticed(plant):
            unnoticed.append((plant["trace_id"], place, what))
    assert unnoticed == []
    assert len(kinds) > 12


def _noticed(trace: dict[str, Any]) -> bool:
    try:
        return bool(play_steps(trace, COMPONENTS[trace["component"]]))
    except MalformedCase:
        return True


def test_a_changed_assignment_is_noticed() -> None:
    with gzip.open(GOLDEN / "pop-assignment.jsonl.gz", "rt") as lines:
        for case in map(json.loads, list(lines)[::97]):
            for number, call in enumerate(case["calls"]):
                told = call["assignment"]
                for other in ([], None, [*(told or ()), ["broker-z", 0, "POP"]], (told or [])[:-1]):
                    if other != told:
                        calls = [dict(each) for each in case["calls"]]
                        calls[number]["assignment"] = other
                        assert [each.field for each in play(case | {"calls": calls})] == [f"calls[{number}].assignment"]
