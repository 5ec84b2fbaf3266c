"""A real Kafka 4.4.0 is asked again what it answers about transactions by `transactions-4.4.jsonl.gz` of
`tests/golden/kafka`.

`python -m tests.slow.test_transaction_answers` records the file anew.
"""

import gzip
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.test_transaction_answers import GOLDEN, GROUPS, played, recorded
from tests.kafka_coordinator.wire.transaction_play import INIT, find_coordinator
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
NEWEST: Final = "4.4.0"
PLAYS: Final = [*(("producers", seed) for seed in range(40)), *((GROUPS, seed) for seed in range(24))]
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
            warm_up(kafka)
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("kind", "seed"), PLAYS)
def test_the_real_4_4_answers_what_is_recorded(kind: str, seed: int, kafka: RealKafka) -> None:
    assert played(kind, seed, kafka.plaintext) == recorded()[kind, seed]


def warm_up(kafka: RealKafka) -> None:
    """Let the broker make its own topics, and load them."""
    with RawClient(kafka.plaintext) as client:
        for number in range(20):
            find_coordinator(client.ask, 1, f"first{number}")
            body = request(INIT, 4, transactional_id=f"first{number}", transaction_timeout=1000)
            while client.ask(body).error_code != 0:
                time.sleep(0.1)


def record() -> None:
    """Write down what a real broker answers."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS, version=NEWEST) as kafka:
        warm_up(kafka)
        answers = [[kind, seed, played(kind, seed, kafka.plaintext)] for kind, seed in PLAYS]
    lines = [json.dumps(each, separators=(",", ":")) + "\n" for each in answers]
    GOLDEN.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    record()
