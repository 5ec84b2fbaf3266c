"""Recorded stories of real clients that own no queues (push consumers of the 5.x line before a real proxy, classic
clients that pop from real brokers), lived by simulated ones; and wrong expectations, which are noticed."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.rocketmq_popping import played
from compare.conformance.rocketmq_popping.story import Story, of_grpc, of_remoting

CAPTURES = Path(__file__).parents[2] / "captures" / "rocketmq"
LIVED = (
    *("broker_restart", "fail_to_dlq", "fifo", "fifo_fail", "join_three", "killed", "leave_by_close"),
    *("queues_added", "slow_renewed", "stopped", "share_all", "share_1"),
)


def story(name: str) -> Story | str:
    (path,) = [path for kind in ("grpc", "remoting_pop") for path in (CAPTURES / kind).glob(f"{name}.json")]
    line = json.loads(gzip.decompress(path.read_bytes()))
    return of_grpc(line) if path.parent.name == "grpc" else of_remoting(line)


@pytest.mark.parametrize("name", LIVED)
def test_simulated_clients_live_what_real_ones_lived(name: str) -> None:
    told = story(name)
    assert isinstance(told, Story)
    assert len(told.given) >= len(told.sent) > 0
    differences, measures = played(told)
    assert not differences
    assert len(measures) >= 4


def test_what_no_scenario_has_is_said() -> None:
    others = {path.stem for path in (CAPTURES / "grpc").glob("*.json")} - set(LIVED) | {"mode_switch"}
    assert all(isinstance(story(name), str) for name in others)


def one_record_less(told: Story) -> Any:
    gone = told.given[len(told.given) // 2].place
    return told._replace(given=[each for each in told.given if each.place != gone])


def all_from_one(told: Story) -> Any:
    return told._replace(given=[each._replace(member=told.members[0].name) for each in told.given])


def nothing_again(told: Story) -> Any:
    return told._replace(given=[each for each in told.given if each.attempt == 1])


def again_at_once(told: Story) -> Any:
    return told._replace(given=[each._replace(at=each.at - 30_000 * (each.attempt > 1)) for each in told.given])


def all_later(told: Story) -> Any:
    return told._replace(given=[each._replace(at=each.at + 10_000) for each in told.given])


@pytest.mark.parametrize("plant", [one_record_less, all_from_one, nothing_again, again_at_once, all_later])
def test_a_wrong_expectation_is_noticed(plant: Callable[[Story], Story]) -> None:
    told = story("share_1")
    assert isinstance(told, Story)
    assert played(plant(told))[0]
