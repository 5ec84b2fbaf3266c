"""The double of RocketMQ's 5.x Python client answers as the released one (5.1.2) did on a real proxy and broker."""

import json
from pathlib import Path
from typing import Any

import pytest

from compare.testing import Group, rocketmq_group
from tests.compare.testing.rocketmq_clients.v5_calls import (
    Surroundings,
    calls_with_server,
    calls_without_server,
    outcome,
)
from tests.compare.testing.rocketmq_clients.v5_stories import SPECIAL, STORIES

_RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "captures" / "rocketmq" / "python-clients" / "v5.json").read_text("utf-8")
)
_WITHIN_S = 2.1
"""A real answer may be so much later or earlier: real timers have whole seconds, real records come back 2.1 to 5.1 s
after their invisible time, and requests that wait are answered at their ends."""


def _surroundings(group: Group, **more: Any) -> Surroundings:
    return Surroundings(
        group.rocketmq_v5(**more),
        "orders",
        group.name,
        lambda seconds: group.clock.advance(seconds),
        lambda: group.clock.now,
    )


def _group() -> Group:
    return rocketmq_group(topics={"orders": 1}, produce=0, name="billing")


_CALLS = sorted(_RECORDED["calls"])


def test_arguments_and_states_are_checked_as_there(subtests: pytest.Subtests) -> None:
    for name in _CALLS:
        with subtests.test(name=name):
            calls = calls_without_server(_surroundings(_group()))
            assert calls.keys() == set(_CALLS)
            assert outcome(calls[name]) == _RECORDED["calls"][name]


def test_calls_are_answered_as_there() -> None:
    told = [[name, what] for name, what in calls_with_server(_surroundings(_group()))]
    assert told == _RECORDED["served"]


_ALL = {story.__name__: (story, {}) for story in STORIES} | {
    name: (story, {"few": {"retry_max_times": 1}, "fifo": {"fifo": True}}.get(name, {}))
    for name, story in SPECIAL.items()
}


def test_messages_come_when_they_came_there(subtests: pytest.Subtests) -> None:
    for name in _ALL:
        with subtests.test(name=name):
            story, more = _ALL[name]
            told = story(_surroundings(_group(), **more))
            recorded = _RECORDED[name]
            assert [what for _, what in told] == [what for _, what in recorded]
            assert [at for at, _ in told] == pytest.approx([at for at, _ in recorded], abs=_WITHIN_S)
