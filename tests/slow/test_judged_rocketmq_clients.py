"""RocketMQ's own Java client 5.3.3 as the judged program: the model that stands for it in the table does the same."""

import asyncio
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from compare.judging.rocketmq import play
from compare.verbs.conformance import conformance
from tests.compare.judging.late_leave import LateLeave
from tests.slow import real_rocketmq
from tests.slow.java import UnavailableError
from tests.slow.java_members import Program

pytestmark = pytest.mark.slow

SOURCE: Final = Path(__file__).parents[2] / "examples" / "clients" / "RocketMQConsumer.java"

DIFFERENT: Final[Mapping[str, str]] = {
    "frozen until another has its queues": "which of two threads wakes first decides whether it gives up locks"
}
"""Where the model is known to differ, and why."""


@pytest.fixture
def client(tmp_path: Path) -> str:
    """The command of the Java program, but for the way in which it consumes."""
    try:
        jars = real_rocketmq.released()
        program = Program.of(SOURCE, jars, tmp_path)
    except UnavailableError as why:
        pytest.skip(str(why))
    return f"{shlex.join(program.command)} {{namesrv}} {{topic}} {{group}}"


def test_it_takes_its_locks_again_where_a_round_falls_into_its_leave(client: str) -> None:
    """As its model does (`tests/compare/judging/test_judging_rocketmq.py`)."""
    late = LateLeave()
    played = asyncio.run(play(f"{client} orderly", late.situation))
    assert set(played.did) == {"gives up locks", "commits", "unregisters", "ends"}
    assert late.locked_again() == {"broker-a": 1, "broker-b": 1}


@pytest.mark.parametrize("way", ["concurrently", "orderly"])
def test_the_java_client_does_what_its_model_does(way: str, client: str) -> None:
    options = ["--client", f"{client} {way}", "--at-once", "2", "--format", "json"]
    result = CliRunner().invoke(conformance, options, standalone_mode=False)
    assert result.exception is None, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    wrong = [each for each in document["situations"] if not each["same"] and each["name"] not in DIFFERENT]
    assert not wrong, [(each["name"], each["client"], each["java"]) for each in wrong]
    lost = {each["name"]: lost for each in document["situations"] if (lost := each["records"]["lost"])}
    assert not lost
    assert result.return_value == 0
