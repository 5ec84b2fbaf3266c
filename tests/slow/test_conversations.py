"""A real Kafka 4.4.0 is asked again what it answers in the conversations of `conversations-4.4.jsonl.gz`, and in others
that nobody has recorded, which are held beside a served broker's answers.

`python -m tests.slow.test_conversations` records the file anew.
"""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.kafka_coordinator.wire.conversing import MIXES, steps_of
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.replaying import Conversation, Player, Step, differences, read, write
from tests.kafka_coordinator.wire.test_conversations import GOLDEN_OF_4_4, SETTINGS, as_recorded, newest
from tests.slow.real_kafka import RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow
VERSION = "4.4.0"
RECORDED, FRESH = range(100, 110), range(900, 903)
"""Tens of the seeds, whose last digit is the mix."""
_FIND, _FETCH, _INIT = 10, 9, 22
_ANSWERS_S = 0.6
"""After 0.15 s a join that the busy broker was about to answer counted as one that waits for other members."""
_OF_THE_REAL = {"group.consumer.min.heartbeat.interval.ms": "5000", "offsets.topic.num.partitions": "50"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with _running(tmp_path_factory.mktemp("kafka")) as kafka:
            yield kafka
    except UnavailableError as error:
        pytest.skip(str(error))


def _running(folder: Path) -> AbstractContextManager[RealKafka]:
    settings = {name: str(value) for name, value in SETTINGS.items()}
    return running(folder, {**settings, **_OF_THE_REAL}, version=VERSION)


def _made(tens: Iterable[int]) -> dict[int, list[Step]]:
    """Seed to steps, of every mix."""
    return {ten * 10 + at: steps_of(ten * 10 + at, mix) for ten in tens for at, mix in enumerate(MIXES)}


def _asked(kafka: RealKafka, seed: int, steps: Sequence[Step]) -> Conversation:
    """What the real broker says in a conversation."""
    name = f"k{seed}"
    with RawClient(kafka.plaintext) as client:
        while client.ask(request(_INIT, 5, transactional_id=None, producer_id=-1, producer_epoch=-1)).error_code:
            time.sleep(0.1)
        for group in (f"{name}g", f"{name}h", f"{name}nope"):  # its coordinators must have read their logs
            client.ask(request(_FIND, 4, key_type=0, coordinator_keys=[group]))
            while client.ask(request(_FETCH, 9, groups=[{"group_id": group, "topics": []}])).groups[0].error_code:
                time.sleep(0.1)
    player = Player(kafka.plaintext, _ANSWERS_S, 0.3)
    answers = {at: each for at, each in enumerate(player.play(steps), 1) if each is not None}
    first = [player.first_ids[name + letter] for letter in "abc"]
    return Conversation(seed, tuple(steps), answers, first, list(player.member_ids))


def test_the_real_broker_answers_what_is_recorded(kafka: RealKafka) -> None:
    for known in read(GOLDEN_OF_4_4)[: len(MIXES)]:
        found = _asked(kafka, known.seed, known.steps)
        answers = [found.answers.get(at) for at in range(1, len(known.steps) + 1)]
        assert differences(known, answers) == {}, known.seed


def test_ours_answers_as_the_real_one_in_conversations_that_nobody_has_recorded(kafka: RealKafka) -> None:
    asked = [_asked(kafka, seed, steps) for seed, steps in _made(FRESH).items()]
    different = {}
    with newest() as server, pytest.MonkeyPatch.context() as patch:
        player = Player(server.bootstrap)
        for known in asked:
            as_recorded(known, patch)
            found = differences(known, player.play(known.steps, known.answers))
            different.update({(known.seed, at): (known.steps[at - 1], *pair) for at, pair in found.items()})
    count = sum(len(each.answers) for each in asked)
    assert count > 600
    assert different == {}


def record() -> None:
    """Write down what a real broker answers."""
    with tempfile.TemporaryDirectory() as folder, _running(Path(folder)) as kafka:
        found = [_asked(kafka, seed, steps) for seed, steps in _made(RECORDED).items()]
    write(GOLDEN_OF_4_4, found)


if __name__ == "__main__":
    record()
