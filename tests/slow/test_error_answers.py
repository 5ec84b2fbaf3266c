"""The answers with which `KafkaBroker.fail` tells an error are those that Kafka's own code makes for a request."""

import io
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.entities import code, response
from kafka_coordinator.wire.error_answers import error_answer
from kafka_coordinator.wire.requests import CreateAcls, DeleteAcls, DescribeAcls, Fetch, Metadata
from kafka_coordinator.wire.schemas import request_schema
from tests.compare.testing.brokers.test_fail import filled
from tests.kafka_coordinator.wire.plain import plain
from tests.kafka_coordinator.wire.serving import serving
from tests.slow.java import UnavailableError, find_java, released_jars

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).with_name("ErrorAnswers.java")
ERROR, VERSION = "CLUSTER_AUTHORIZATION_FAILED", "4.1.0"
ELSEWHERE = (Fetch, Metadata, DescribeAcls, CreateAcls, DeleteAcls)
"""Of the first two a broker tells errors per partition and per topic, where Kafka's method tells them for the whole
request. The last three Kafka reads only with permissions that mean something."""
TEXTS = ("error_message",)


def content(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_texts(each) for name, each in value.items() if name not in TEXTS}
    return [without_texts(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, Any, Any]]:
    """API, version, our answer and Kafka's."""
    try:
        java = find_java()
        artifacts = {"org.apache.kafka:kafka-clients": VERSION, "org.slf4j:slf4j-simple": "1.7.36"}
        jars = released_jars("kafka-clients", VERSION, artifacts)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    javac, folder = str(Path(java).resolve().with_name("javac")), tmp_path_factory.mktemp("answers")
    subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(folder), str(SOURCE)], check=True, timeout=120)
    asked = []
    with serving({"orders": 1}, version=VERSIONS["4.4"]) as it:
        state = it.cluster.states["broker-1"]
        for api in APIS.values():
            if api.request is None or api.request in ELSEWHERE:
                continue
            for version in range(api.versions[0], api.versions[1] + 1):
                body = filled(request_schema(api.key, version), state.topic_ids["orders"])
                ours = error_answer(state, 0.0, api.request(1, version, "c", body), code(ERROR))
                assert ours is not None
                asked.append((api, version, content(body), ours.body))
    lines = "".join(f"{api.key} {version} {ERROR} {body.hex()}\n" for api, version, body, _ in asked)
    command = [java, "-cp", f"{folder}:{jars}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "ErrorAnswers"]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return [
        (api.name, version, ours, entity_reader(response(api.key, version))(bytes.fromhex(told), 0)[0])
        for (api, version, _, ours), told in zip(asked, ran.stdout.splitlines(), strict=True)
        if told != "-"
    ]


def test_they_are_those_of_kafkas_own_code(answers: list[tuple[str, int, Any, Any]]) -> None:
    wrong = [
        (api, version, without_texts(plain(ours)), without_texts(plain(theirs)))
        for api, version, ours, theirs in answers
        if without_texts(plain(ours)) != without_texts(plain(theirs))
    ]
    assert wrong == []
    assert len(answers) >= 70
