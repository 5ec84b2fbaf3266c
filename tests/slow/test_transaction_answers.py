"""A real Kafka 4.4.0 is asked again what it answers about transactions by `transactions-4.4.jsonl.gz` of
`tests/golden/kafka`.

`python -m tests.slow.test_transaction_answers` records the file anew.
"""

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.test_transaction_answers import GOLDEN, recorded
from tests.kafka_coordinator.wire.transaction_play import play
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
NEWEST: Final = "4.4.0"
SEEDS: Final = 40
SETTINGS: Final = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka"), SETTINGS, version=NEWEST) as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_real_4_4_answers_what_is_recorded(seed: int, kafka: RealKafka) -> None:
    assert _answers(kafka, seed) == recorded()[seed]


def _answers(kafka: RealKafka, seed: int) -> Any:
    with RawClient(kafka.plaintext) as client:
        return json.loads(json.dumps(play(client.ask, seed)))


def record() -> None:
    """Write down what a real broker answers."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS, version=NEWEST) as kafka:
        lines = [json.dumps([seed, _answers(kafka, seed)], separators=(",", ":")) + "\n" for seed in range(SEEDS)]
    GOLDEN.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    record()
