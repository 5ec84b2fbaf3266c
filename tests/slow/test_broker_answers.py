"""A real Kafka 4.1.0 is asked again what it answers by `broker-answers.json` of `tests/golden/kafka-wire`, a real 4.4.0
by `broker-answers-4.4.json`, and both by `api-versions.json`.

`python -m tests.slow.test_broker_answers` records the files anew.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.kafka_coordinator.wire.api_versions import HIGHEST, PRODUCE, closes, offered
from tests.kafka_coordinator.wire.broker_answers import CASES, CASES_OF_4_4, answers_of
from tests.kafka_coordinator.wire.test_broker_answers import GOLDEN, GOLDEN_OF_4_4, OFFERED
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
NEWEST = "4.4.0"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("newest"), version=NEWEST) as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", CASES)
def test_the_real_broker_answers_what_is_recorded(name: str, kafka: RealKafka) -> None:
    assert _answers(kafka, name) == json.loads(GOLDEN.read_text("utf-8"))[name]


@pytest.mark.parametrize("name", CASES_OF_4_4)
def test_the_real_4_4_answers_what_is_recorded(name: str, newest: RealKafka) -> None:
    assert _answers(newest, name) == json.loads(GOLDEN_OF_4_4.read_text("utf-8"))[name]


def _answers(kafka: RealKafka, name: str) -> list[Any]:
    return answers_of(kafka.plaintext, name, name.replace("_", "-"), late=0.3)


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_real_brokers_offer_what_is_recorded(version: int, kafka: RealKafka, newest: RealKafka) -> None:
    found = {"4.1": offered(kafka.plaintext, version), "4.4": offered(newest.plaintext, version)}
    assert found == json.loads(OFFERED.read_text("utf-8"))


@pytest.mark.parametrize("version", [0, 2, 14])
def test_the_real_broker_does_not_take_every_version_of_produce_that_it_offers(version: int, kafka: RealKafka) -> None:
    assert closes(kafka.plaintext, PRODUCE, version)


def record() -> None:
    """Write down what real brokers answer."""
    versions = {}
    for version, cases, path in [("4.1.0", CASES, GOLDEN), (NEWEST, CASES_OF_4_4, GOLDEN_OF_4_4)]:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder), version=version) as kafka:
            found = {name: _answers(kafka, name) for name in cases}
            versions[version.rpartition(".")[0]] = offered(kafka.plaintext, HIGHEST)
        _write(path, {name: "[\n" + ",\n".join(map(json.dumps, each)) + "\n]" for name, each in found.items()})
    listed = {
        version: "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in of.items()) + "\n}"
        for version, of in versions.items()
    }
    _write(OFFERED, listed)


def _write(path: Path, items: Mapping[str, str]) -> None:
    lines = ",\n".join(f"{json.dumps(name)}: {each}" for name, each in items.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
