"""RocketMQ's own Java client 5.3.3 as the judged program: the model that stands for it in the table does the same."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from compare.conformance.command import conformance
from tests.slow import real_rocketmq
from tests.slow.java import UnavailableError, released_jars
from tests.slow.java_members import Program

pytestmark = pytest.mark.slow

SOURCE: Final = Path(__file__).parents[2] / "examples" / "clients" / "RocketMQConsumer.java"

DIFFERENT: Final[Mapping[str, str]] = {
    "SYSTEM_ERROR on LOCK_BATCH_MQ, at work": "the service for POP renews the locks as well, milliseconds later",
    "no lock on LOCK_BATCH_MQ, at work": "the same",
    "frozen until another has its queues": "which of two threads wakes first decides whether it gives up locks",
}
"""Where the model is known to differ, and why."""


@pytest.mark.parametrize("way", ["concurrently", "orderly"])
def test_the_java_client_does_what_its_model_does(way: str, tmp_path: Path) -> None:
    try:
        jars = released_jars("rocketmq", real_rocketmq.VERSION, real_rocketmq.ARTIFACTS)
        program = Program.of(SOURCE, jars, tmp_path)
    except UnavailableError as why:
        pytest.skip(str(why))
    client = f"{shlex.join(program.command)} {{namesrv}} {{topic}} {{group}} {way}"
    options = ["--client", client, "--at-once", "2", "--format", "json"]
    result = CliRunner().invoke(conformance, options, standalone_mode=False)
    assert result.exception is None, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    wrong = [each for each in document["situations"] if not each["same"] and each["name"] not in DIFFERENT]
    assert not wrong, [(each["name"], each["client"], each["java"]) for each in wrong]
    assert document["lost"] == 0
    assert result.return_value == 0
