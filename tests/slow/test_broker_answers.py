"""A real Kafka 4.1.0 is asked again what it answers by `broker-answers.json` and `api-versions.json` of
`tests/golden/kafka`.

`python -m tests.slow.test_broker_answers` records the files anew.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kafka_coordinator.wire.api_versions import HIGHEST, PRODUCE, closes, offered
from tests.kafka_coordinator.wire.broker_answers import CASES, answers_of
from tests.kafka_coordinator.wire.test_broker_answers import GOLDEN, OFFERED
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", CASES)
def test_the_real_broker_answers_what_is_recorded(name: str, kafka: RealKafka) -> None:
    assert _answers(kafka, name) == json.loads(GOLDEN.read_text("utf-8"))[name]


def _answers(kafka: RealKafka, name: str) -> list[Any]:
    return answers_of(kafka.plaintext, name, name.replace("_", "-"), late=0.3)


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_real_broker_offers_what_is_recorded(version: int, kafka: RealKafka) -> None:
    assert offered(kafka.plaintext, version) == json.loads(OFFERED.read_text("utf-8"))


@pytest.mark.parametrize("version", [0, 2, 14])
def test_the_real_broker_does_not_take_every_version_of_produce_that_it_offers(version: int, kafka: RealKafka) -> None:
    assert closes(kafka.plaintext, PRODUCE, version)


def record() -> None:
    """Write down what a real broker answers."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as kafka:
        found = {name: _answers(kafka, name) for name in CASES}
        versions = offered(kafka.plaintext, HIGHEST)
    lines = [f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, each)) + "\n]" for name, each in found.items()]
    listed = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in versions.items()]
    OFFERED.write_text("{\n" + ",\n".join(listed) + "\n}\n", encoding="utf-8")
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
