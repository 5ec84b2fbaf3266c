"""Real brokers of 4.4.0 and 4.1.0 are asked again what they answer about transactions by `transactions-4.4.jsonl.gz` of
`tests/golden/kafka-wire`: the same.

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

from kafka_coordinator.transactions.coordinator import LAST_EPOCH
from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire import plain
from tests.kafka_coordinator.wire.broker_cases import Ask, batch
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import serving
from tests.kafka_coordinator.wire.test_transaction_answers import GOLDEN, GROUPS, SOON, played, recorded
from tests.kafka_coordinator.wire.transaction_play import END, INIT, PRODUCE, Play, Told, find_coordinator
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
NEWEST: Final = "4.4.0"
PLAYS: Final = [*(("producers", seed) for seed in range(40)), *((GROUPS, seed) for seed in range(24))]
SETTINGS: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module", params=["4.1.0", NEWEST])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka"), SETTINGS, version=request.param) as kafka:
            warm_up(kafka)
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("kind", "seed"), PLAYS)
def test_real_brokers_answer_what_is_recorded(kind: str, seed: int, kafka: RealKafka) -> None:
    assert played(kind, seed, kafka.plaintext) == recorded()[kind, seed]


def test_a_producer_whose_epochs_are_used_up_gets_another_id(kafka: RealKafka) -> None:
    with serving({}, SOON, version=VERSIONS["4.4"]) as server, RawClient(server.bootstrap) as ours:
        with_ours = UsedUp(ours.ask).run()
    with RawClient(kafka.plaintext) as real:
        assert UsedUp(real.ask).run() == with_ours


class UsedUp(Play):
    """A producer begins until its last epochs are near, then commits with them and goes on; so does a zombie."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask, 0, "used-up")

    def run(self) -> Told:
        self.begin()
        name, first = self.names[0], -1
        while self.producers[name][1] < LAST_EPOCH - 1:
            begun = self.ask(plain.request(INIT, 4, transactional_id=name, transaction_timeout=60_000))
            first = begun.producer_id
            self.producers[name] = first, begun.producer_epoch
        for _ in range(2):
            number, epoch = self.producers[name]
            self.write(name, number, epoch)
            self.finish(name, number, epoch)
        self.finish(name, first, LAST_EPOCH)
        self.write(name, first, LAST_EPOCH)
        self.init(name, 4, first, LAST_EPOCH, stranger=False)
        self.write(name, *self.producers[name])
        self.init(name, 4, first, LAST_EPOCH, stranger=False)
        self.init(name, 4, first, LAST_EPOCH - 1, stranger=False)
        self.init(name, 4, stranger=True)
        self.describe_producers()
        self.describe()
        return self.told

    def write(self, name: str, number: int, epoch: int) -> None:
        records = batch(b"v", producer=(number, epoch, 0), transactional=True)
        topic = {"name": self.topic, "partition_data": [{"index": 0, "records": records}]}
        self.say("write", plain.request(PRODUCE, 12, acks=-1, timeout=5000, transactional_id=name, topic_data=[topic]))

    def finish(self, name: str, number: int, epoch: int) -> None:
        values = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch}
        ended = self.say("end", plain.request(END, 5, **values, committed=True))
        self.settle()
        self.producers[name] = ended.producer_id, ended.producer_epoch


def warm_up(kafka: RealKafka) -> None:
    """Let the broker make its own topics, and load them."""
    with RawClient(kafka.plaintext) as client:
        for number in range(20):
            find_coordinator(client.ask, 1, f"first{number}")
            body = plain.request(INIT, 4, transactional_id=f"first{number}", transaction_timeout=1000)
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
