"""The served broker answers as the real one does: 317 requests about records, topics and settings to 4.1.0, and
about what came since to 4.4.0, field by field, with the real brokers' answers recorded
(`tests/slow/test_broker_answers.py`)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire.api_versions import PRODUCE, closes, offered
from tests.kafka_coordinator.wire.broker_answers import CASES, CASES_OF_4_4, answers_of
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.rows import rows

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-wire" / "broker-answers.json"
GOLDEN_OF_4_4 = GOLDEN.with_name("broker-answers-4.4.json")
OFFERED = GOLDEN.with_name("api-versions.json")
"""Version of Kafka to API to its lowest and highest version, as a real broker offers them."""
OFFSET_FETCH = 9


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving({}, version=VERSIONS["4.1"]) as made:
        yield made


@pytest.fixture(scope="module")
def newest() -> Iterator[Serving]:
    with serving({}, version=VERSIONS["4.4"]) as made:
        yield made


@rows("name", CASES)
def test_our_answers_are_the_real_brokers(name: str, server: Serving) -> None:
    recorded = json.loads(GOLDEN.read_text("utf-8"))
    ours = answers_of(server.bootstrap, name, name.replace("_", "-"))
    for number, (real, own) in enumerate(zip(recorded[name], ours, strict=True)):
        assert own == real, f"{name}, answer {number}"


@rows("name", CASES_OF_4_4)
def test_our_answers_are_those_of_the_real_4_4(name: str, newest: Serving) -> None:
    recorded = json.loads(GOLDEN_OF_4_4.read_text("utf-8"))
    assert answers_of(newest.bootstrap, name, name.replace("_", "-")) == recorded[name]


@rows("version", [0, 3, 4])
def test_our_versions_are_the_real_brokers(version: int, server: Serving, newest: Serving) -> None:
    recorded = json.loads(OFFERED.read_text("utf-8"))
    real, ours = recorded["4.1"], offered(server.bootstrap, version)
    assert ours == {name: real[name] for name in ours}
    real, ours = recorded["4.4"], offered(newest.bootstrap, version)
    assert ours == {name: real[name] for name in ours}


def test_a_version_that_4_4_alone_offers_closes_the_connection_of_others(server: Serving, newest: Serving) -> None:
    for address, is_answered in [(server.bootstrap, False), (newest.bootstrap, True)]:
        with RawClient(address) as client:
            answer = client.ask(request(OFFSET_FETCH, 10, groups=[{"group_id": "g", "topics": None}]))
        assert (answer is not None) == is_answered


@rows("version", [0, 2, 14])
def test_a_version_of_produce_that_is_not_served_closes_the_connection(version: int, server: Serving) -> None:
    assert closes(server.bootstrap, PRODUCE, version)


def test_every_conversation_is_recorded() -> None:
    assert set(json.loads(GOLDEN.read_text("utf-8"))) == set(CASES)
