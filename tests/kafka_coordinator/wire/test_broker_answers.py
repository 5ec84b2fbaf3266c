"""The served broker answers as the real one does: 317 requests about records, topics and settings, field by field, with
the real broker's answers recorded (`tests/slow/test_broker_answers.py`)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka_coordinator.wire.api_versions import PRODUCE, closes, offered
from tests.kafka_coordinator.wire.broker_answers import CASES, answers_of
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.rows import rows

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka" / "broker-answers.json"
OFFERED = GOLDEN.with_name("api-versions.json")
"""API to its lowest and highest version, as a real broker offers them."""


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving({}) as made:
        yield made


@rows("name", CASES)
def test_our_answers_are_the_real_brokers(name: str, server: Serving) -> None:
    recorded = json.loads(GOLDEN.read_text("utf-8"))
    ours = answers_of(server.bootstrap, name, name.replace("_", "-"))
    for number, (real, own) in enumerate(zip(recorded[name], ours, strict=True)):
        assert own == real, f"{name}, answer {number}"


@rows("version", [0, 3, 4])
def test_our_versions_are_the_real_brokers(version: int, server: Serving) -> None:
    real, ours = json.loads(OFFERED.read_text("utf-8")), offered(server.bootstrap, version)
    assert ours == {name: real[name] for name in ours}


@rows("version", [0, 2, 14])
def test_a_version_of_produce_that_is_not_served_closes_the_connection(version: int, server: Serving) -> None:
    assert closes(server.bootstrap, PRODUCE, version)


def test_every_conversation_is_recorded() -> None:
    assert set(json.loads(GOLDEN.read_text("utf-8"))) == set(CASES)
