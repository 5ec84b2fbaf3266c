"""The served broker answers requests about transactions as a real 4.4.0 does, field by field, play by play
(`transaction_play`)."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import AT_ONCE, Serving, serving
from tests.kafka_coordinator.wire.transaction_play import play
from tests.rows import rows

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka" / "transactions-4.4.jsonl.gz"
"""A line is a list: the play's seed, and what the real broker answered, each with what it was asked in short."""
SOON = {**AT_ONCE, "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}


def recorded() -> dict[int, Any]:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        return dict(map(json.loads, lines))


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving({}, SOON, version=VERSIONS["4.4"]) as made:
        yield made


@rows("seed", recorded())
def test_our_answers_are_those_of_the_real_4_4(seed: int, server: Serving) -> None:
    with RawClient(server.bootstrap) as client:
        told = json.loads(json.dumps(play(client.ask, seed)))
    for number, (real, own) in enumerate(zip(recorded()[seed], told, strict=True)):
        assert own == real, f"play {seed}, answer {number}"
