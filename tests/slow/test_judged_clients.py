"""Kafka's own Java client 4.1.0 as the judged program: the model that stands for it in the table does the same."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from compare.conformance.command import conformance
from tests.slow.java import UnavailableError, find_java, released_jars
from tests.slow.real_kafka import _ARTIFACTS, VERSION

pytestmark = pytest.mark.slow

SOURCE: Final = Path(__file__).parents[2] / "examples" / "clients" / "JavaConsumer.java"

DIFFERENT: Final[Mapping[str, str]] = {
    "GROUP_MAX_SIZE_REACHED on JoinGroup": "the real client sends a LeaveGroup when it is closed then",
    "GROUP_AUTHORIZATION_FAILED on SyncGroup": "the real client sends a LeaveGroup when it is closed then",
    "GROUP_AUTHORIZATION_FAILED on OffsetCommit": "the program's commitSync() throws, the model's commits do not",
}
"""Where the model is known to differ, and why."""


def test_the_java_client_does_what_its_model_does(tmp_path: Path) -> None:
    try:
        java, jars = find_java(), released_jars("kafka", VERSION, _ARTIFACTS)
    except UnavailableError as why:
        pytest.skip(str(why))
    javac = shutil.which("javac", path=str(Path(java).resolve().parent)) or shutil.which("javac")
    if javac is None:
        pytest.skip("no javac beside java")
    subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(tmp_path), str(SOURCE)], check=True, timeout=120)
    client = f"{java} -XX:TieredStopAtLevel=1 -cp '{tmp_path}:{jars}/*' JavaConsumer {{bootstrap}} {{topic}} {{group}}"
    options = ["--client", client, "--at-once", "2", "--format", "json"]
    result = CliRunner().invoke(conformance, options, standalone_mode=False)
    assert result.exception is None, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    wrong = [each for each in document["situations"] if not each["same"] and each["name"] not in DIFFERENT]
    assert not wrong, [(each["name"], each["client"], each["java"]) for each in wrong]
    assert document["lost"] == 0
    assert result.return_value == 0
