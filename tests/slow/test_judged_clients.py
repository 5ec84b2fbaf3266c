"""Released clients as the judged program: the Java client 4.1.0 does what its model does, which stands for it in the
table; older ones and franz-go lose nothing and stop nowhere."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from compare.verbs.conformance import conformance
from tests.compare.judging.test_judging import MOVER
from tests.slow.java import UnavailableError, find_java, released_jars
from tests.slow.test_kafka_clients import go_program

pytestmark = pytest.mark.slow

CLIENTS: Final = Path(__file__).parents[2] / "examples" / "clients"

DIFFERENT: Final[Mapping[str, str]] = {
    "GROUP_MAX_SIZE_REACHED on JoinGroup": "the real client sends a LeaveGroup when it is closed then",
    "GROUP_AUTHORIZATION_FAILED on SyncGroup": "the real client sends a LeaveGroup when it is closed then",
    "GROUP_AUTHORIZATION_FAILED on OffsetCommit": "the program's commitSync() throws, the model's commits do not",
}
"""Where the model is known to differ, and why."""

OLDER: Final[Mapping[str, str]] = {
    f"ILLEGAL_GENERATION on {request}": "it gives up its member id, and joins as a new member"
    for request in ("SyncGroup", "Heartbeat", "OffsetCommit")
}
"""Where 2.8 differs besides."""

VERSIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "4.1.0": DIFFERENT,
    "3.9.1": DIFFERENT,
    "2.8.2": {**DIFFERENT, **OLDER},
}


def java(version: str, folder: Path, program: str = "JavaConsumer") -> str:
    """The command of the Java program; `UnavailableError` where Java, Maven or the jars are missing."""
    artifacts = {"org.apache.kafka:kafka-clients": version, "org.slf4j:slf4j-simple": "1.7.36"}
    found, jars = find_java(), released_jars("kafka-clients", version, artifacts)
    javac = shutil.which("javac", path=str(Path(found).resolve().parent)) or shutil.which("javac")
    if javac is None:
        raise UnavailableError("no javac beside java")
    source = str(CLIENTS / f"{program}.java")
    subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(folder), source], check=True, timeout=120)
    return f"{found} -XX:TieredStopAtLevel=1 -cp '{folder}:{jars}/*' {program}"


def judged(command: str, *situations: str) -> dict[str, Any]:
    """What the verb finds in these situations (all), which must end well."""
    options = ["--client", f"{command} {{bootstrap}} {{topic}} {{group}}", "--at-once", "2", "--format", "json"]
    options += [part for name in situations for part in ("--situation", name)]
    result = CliRunner().invoke(conformance, options, standalone_mode=False)
    assert result.exception is None, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    failed = [(each["name"], each["client"], each["failure"]) for each in document["situations"] if each["failure"]]
    assert failed == []
    assert document["lost"] == 0
    assert result.return_value == 0
    document["situations"] = [each for each in document["situations"] if not each["name"].startswith("transactional")]
    untried = [each["name"] for each in document["situations"] if not each["tried"]]
    assert untried == []
    return document


@pytest.mark.parametrize("version", VERSIONS)
def test_the_java_client_does_what_its_model_does(version: str, tmp_path: Path) -> None:
    try:
        command = java(version, tmp_path)
    except UnavailableError as why:
        pytest.skip(str(why))
    document = judged(command)
    wrong = [each for each in document["situations"] if not each["same"] and each["name"] not in VERSIONS[version]]
    assert not wrong, [(each["name"], each["client"], each["java"]) for each in wrong]


SHARES: Final = ("record", "told to end", "session expires", "SHARE_SESSION_NOT_FOUND on ShareFetch")


def test_the_java_share_consumer_does_what_its_model_does(tmp_path: Path) -> None:
    try:
        command = java("4.4.0", tmp_path, "JavaShareConsumer")
    except UnavailableError as why:
        pytest.skip(str(why))
    document = judged(command, *SHARES)
    assert (document["protocol"], document["same"]) == ("share", len(document["situations"]))


def test_franz_go_keeps_what_a_member_of_a_share_group_owes(tmp_path: Path) -> None:
    try:
        program = go_program((CLIENTS / "franz_go_share_consumer.go").read_text(encoding="utf-8"), tmp_path, "1.22.3")
    except UnavailableError as why:
        pytest.skip(str(why))
    assert judged(program, *SHARES)["protocol"] == "share"


def test_a_program_that_goes_on_with_a_fenced_producer_fails() -> None:
    program = f"{sys.executable} {MOVER} {{bootstrap}} {{topic}} {{group}} careless"
    options = ["--client", program, "--situation", "a zombie", "--format", "json"]
    result = CliRunner().invoke(conformance, options, standalone_mode=False)
    assert result.return_value == 1
    (found,) = json.loads(result.stdout)["situations"]
    assert found["failure"] == "stopped reading"


def test_franz_go_goes_on_where_the_java_client_does(tmp_path: Path) -> None:
    try:
        program = go_program((CLIENTS / "franz_go_consumer.go").read_text(encoding="utf-8"), tmp_path)
    except UnavailableError as why:
        pytest.skip(str(why))
    document = judged(program)
    of_static = {each["name"]: each["client"] for each in document["situations"] if each["name"].startswith("static")}
    assert of_static["static: killed, started again"] == ["looks for the coordinator", "joins as a new member"]
    assert of_static["static: told to end (SIGTERM)"] == ["ends"]
