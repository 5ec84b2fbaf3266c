"""A served broker and a real Kafka 4.4.0 are asked the same in random conversations of share groups that nobody has
recorded: every answer is equal, but for the texts beside errors of acknowledgements."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka_coordinator.wire.broker_answers import steady_answers
from tests.kafka_coordinator.wire.serving import serving
from tests.kafka_coordinator.wire.share_talk import conversation
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
SEEDS = range(8)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        folder: Path = tmp_path_factory.mktemp("kafka")
        with running(folder, version="4.4.0") as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("seed", SEEDS)
def test_ours_answers_share_consumers_as_the_real_one(seed: int, kafka: RealKafka) -> None:
    with serving({}) as ours:
        found = steady_answers(ours.bootstrap, conversation(seed), f"talk-{seed}")
    real = steady_answers(kafka.plaintext, conversation(seed), f"talk-{seed}")
    assert len(real) > 12
    assert found == real
