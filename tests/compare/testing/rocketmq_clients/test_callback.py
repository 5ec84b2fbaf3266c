"""The double of RocketMQ's older Python client answers as the released one (2.0.0) did on its C++ library."""

import json
from pathlib import Path
from typing import Any

import pytest

from compare.testing import rocketmq_group
from tests.compare.testing.rocketmq_clients.callback_calls import told

_RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "captures" / "rocketmq" / "python-clients" / "callback.json").read_text("utf-8")
)


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    api = rocketmq_group(topics={"orders": 2}, produce=0, name="billing").rocketmq_client()
    found: dict[str, Any] = json.loads(json.dumps(told(api, api, "orders", "billing", "127.0.0.1:9876")))
    return found


def test_the_same_is_asked(answers: dict[str, Any]) -> None:
    assert answers.keys() == _RECORDED.keys()


@pytest.mark.parametrize("name", sorted(_RECORDED))
def test_calls_are_answered_as_there(name: str, answers: dict[str, Any]) -> None:
    assert answers[name] == _RECORDED[name]
