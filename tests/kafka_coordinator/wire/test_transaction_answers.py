"""The served broker answers requests about transactions as a real 4.4.0 does, field by field, play by play
(`transaction_play`, `transaction_groups`)."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import AT_ONCE, Serving, serving
from tests.kafka_coordinator.wire.transaction_groups import play_with_a_group
from tests.kafka_coordinator.wire.transaction_play import play
from tests.rows import rows

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-wire" / "transactions-4.4.jsonl.gz"
"""A line is a list: a play's kind and seed, and the real broker's answers, each with what it was asked in short."""
GROUPS = "groups"
SOON = {**AT_ONCE, "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}


@cache
def recorded() -> dict[tuple[str, int], Any]:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        return {(kind, seed): told for kind, seed, told in map(json.loads, lines)}


def played(kind: str, seed: int, address: str) -> Any:
    """What the broker that listens there answers, as JSON has it."""
    if kind == GROUPS:
        return json.loads(json.dumps(play_with_a_group(lambda: RawClient(address), seed, kind)))
    with RawClient(address) as client:
        return json.loads(json.dumps(play(client.ask, seed)))


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving({}, SOON, version=VERSIONS["4.4"]) as made:
        yield made


@rows("kind, seed", recorded())
def test_our_answers_are_those_of_the_real_4_4(kind: str, seed: int, server: Serving) -> None:
    told = played(kind, seed, server.bootstrap)
    for number, (real, own) in enumerate(zip(recorded()[kind, seed], told, strict=True)):
        assert own == real, f"{kind}, play {seed}, answer {number}"
