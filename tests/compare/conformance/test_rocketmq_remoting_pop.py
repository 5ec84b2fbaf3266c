"""Recorded stories of Java push consumers that pop over remoting, played before our brokers; and wrong expectations
planted in them, which are all noticed."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare.conformance import rocketmq_remoting_pop as pops
from compare.conformance.players import PLAYERS

STORIES = sorted((Path(__file__).parents[2] / "captures" / "rocketmq" / "remoting_pop").glob("*.json"))
RETURNED = {"share_1": 49, "share_all": 0, "mode_switch": 28}
"""Story to how many records came back in it."""


def story(name: str) -> Any:
    path = next(path for path in STORIES if path.stem == name)
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", RETURNED)
def test_a_story_happens_again_as_it_was_recorded(name: str) -> None:
    line = story(name)
    assert [player.kind for player in PLAYERS if player.recognises(line)] == ["recordings of classic clients that pop"]
    replay = pops.Replay(pops.Recording.model_validate(line), {})
    replay.run()
    recorded, here = replay.given()
    assert sum(place[1] != 0 for place in recorded) == RETURNED[name]
    assert len(set(recorded) & set(here)) >= len(recorded) - 2
    assert pops.play(line).differences == []


def answer(line: Any, what: str) -> Any:
    return [each for each in line["frames"] if each.get("answerTo") == what and each["code"] == 0][-1]


def other_records(line: Any) -> None:
    answer(line, "POP_MESSAGE")["ext"]["msgOffsetInfo"] += ",99"


def later(line: Any) -> None:
    told = answer(line, "POP_MESSAGE")["ext"]
    told["popTime"] = str(int(told["popTime"]) + 2_000)


def other_fields(line: Any) -> None:
    answer(line, "POP_MESSAGE")["ext"]["another"] = "1"


def other_queues(line: Any) -> None:
    told = answer(line, "QUERY_ASSIGNMENT")
    told["body"] = told["body"].replace('"queueId":0', '"queueId":3', 1)


def other_code(line: Any) -> None:
    answer(line, "ACK_MESSAGE")["code"] = 208


@pytest.mark.parametrize("plant", [other_records, later, other_fields, other_queues, other_code])
def test_a_wrong_expectation_is_noticed(plant: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pops, "MOST_RUNS", 1)
    line = story("share_all")
    plant(line)
    assert pops.play(line).differences
