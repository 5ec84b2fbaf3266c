"""Recorded stories of RocketMQ's 5.x clients before a real proxy, replayed before ours; and wrong expectations planted
in them, which are all noticed."""

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.rocketmq_proxy import play, recognises

STORIES = sorted((Path(__file__).parents[2] / "captures" / "rocketmq" / "grpc").glob("*.json"))
LITE = "lite_topics"


def story(name: str) -> Any:
    path = next(path for path in STORIES if path.stem == name)
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", [path.stem for path in STORIES])
def test_a_story_happens_again_as_it_was_recorded(name: str) -> None:
    line = story(name)
    assert recognises(line)
    played = play(line)
    assert (played.differences, bool(played.skipped)) == ([], name == LITE)


def deliveries(line: Any) -> Iterator[Any]:
    for call in line["grpc"]:
        for part in call.get("responses") or ():
            if "message" in part:
                yield call, part["message"]["systemProperties"]


def other_client(line: Any) -> None:
    first = next(call for call, _ in deliveries(line))
    first["client"] = "somebody else"


def other_attempt(line: Any) -> None:
    system = next(system for _, system in deliveries(line))
    system["deliveryAttempt"] = 7


def other_place(part: int) -> Callable[[Any], None]:
    def plant(line: Any) -> None:
        system = [system for _, system in deliveries(line)][-1]
        parts = system["receiptHandle"].split(" ")
        parts[part] = "17"
        system["receiptHandle"] = " ".join(parts)

    return plant


def other_status(method: str) -> Callable[[Any], None]:
    def plant(line: Any) -> None:
        call = [call for call in line["grpc"] if call["method"] == method and call.get("response")][-1]
        call["response"]["status"]["message"] = "another text"

    return plant


def other_settings(line: Any) -> None:
    said = next(call for call in line["grpc"] if call.get("dir") == "s>c")
    said["message"]["settings"]["backoffPolicy"]["maxAttempts"] = 5


def other_route(line: Any) -> None:
    call = next(call for call in line["grpc"] if call["method"] == "QueryAssignment")
    call["response"]["assignments"].pop()


def later(line: Any) -> None:
    call = [call for call, _ in deliveries(line)][-1]
    call["end_ms"] += 20_000


@pytest.mark.parametrize(
    "plant",
    [
        other_client,
        other_attempt,
        *[other_place(part) for part in (2, 5, 6)],
        *[other_status(method) for method in ("AckMessage", "SendMessage", "Heartbeat", "QueryRoute")],
        other_settings,
        other_route,
        later,
    ],
)
def test_a_wrong_expectation_is_noticed(plant: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compare.conformance.rocketmq_proxy.MOST_RUNS", 1)
    line = copy.deepcopy(story("fifo_fail"))
    plant(line)
    assert play(line).differences
