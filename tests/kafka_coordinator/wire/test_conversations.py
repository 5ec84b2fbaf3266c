"""The served broker answers as the real one does in whole conversations, with members, administrators, producers and
readers beside each other: 462 answers of a real 4.1.0 that an earlier served broker did not give, and all answers of a
real 4.4.0 to random requests of every API that is served (`tests/slow/test_conversations.py`)."""

from base64 import urlsafe_b64decode
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import UUID

import pytest

from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.state import CONTROLLER, ServerSettings
from protocols.engine.socket_process import SocketProcess
from tests.kafka_coordinator.wire.replaying import KEYS, Conversation, Player, differences, read
from tests.kafka_coordinator.wire.serving import Serving, serving

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-wire" / "conversations-4.1.jsonl.gz"
GOLDEN_OF_4_4 = GOLDEN.with_name("conversations-4.4.jsonl.gz")
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.heartbeat.interval.ms": 6000,
}
"""Of the coordinator of 4.4.0: no answer hangs on the time between two requests."""

NOT_ALIKE: dict[str, set[tuple[int, int]]] = {
    "the real broker was just starting, and its coordinators had not read their logs yet": {
        *((4217000, at) for at in range(4, 32)),
        *((4217004, at) for at in (23, 26)),
    },
    "the topic of the transactions' states was just being made, which our brokers do not need": {(6011030, 23)},
    "a classic member's generated id stands before or behind those of others, and assignors go by that": {
        *((4217002, at) for at in (15, 30, 31, 32)),
        *((6011002, at) for at in (10, 12)),
        (6011022, 17),
        (6011052, 47),
        *((6011032, at) for at in (19, 27, 36, 42)),
        (6011062, 46),
        *((6011072, at) for at in (38, 45)),
    },
    "a topic that is deleted and created again is another one, even where a member still has the first": {
        *((6011031, at) for at in (41, 45)),
    },
}
"""Why the answers to some steps, by seed and number, are others."""

OF_TRANSACTIONS = {
    *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "WriteTxnMarkers"),
    *("DescribeProducers", "DescribeTransactions", "ListTransactions"),
}
"""Asked in conversations of their own (`test_transactions.py`)."""


def test_our_answers_in_conversations_are_those_of_the_real_4_1() -> None:
    known = read(GOLDEN)
    found = {}
    with serving({}, version=VERSIONS["4.1"]) as server:
        player = Player(server.bootstrap)
        for each in known:
            different = differences(each, player.play(each.steps, each.answers))
            found.update({(each.seed, at): (each.steps[at - 1], *pair) for at, pair in different.items()})
    explained = set().union(*NOT_ALIKE.values())
    assert {at: told for at, told in found.items() if at not in explained} == {}
    assert sum(len(each.answers) for each in known) == 462


def newest() -> AbstractContextManager[Serving]:
    """A served 4.4 with the settings of the real one."""
    return serving({}, SETTINGS, version=VERSIONS["4.4"], server=ServerSettings(auto_create_topics_enable=False))


def as_recorded(known: Conversation, patch: pytest.MonkeyPatch) -> None:
    """Let the served cluster make the ids that the real one made: assignors and maps go by them."""
    topics, members = list(known.topic_ids), list(known.member_ids)
    made = _MADE

    def new_id(process: SocketProcess, prefix: str) -> str:
        given = topics if process.name == CONTROLLER else members
        if not given:
            return made(process, prefix)
        known = given.pop(0)
        return str(UUID(bytes=urlsafe_b64decode(f"{known}=="))) if len(known) == _SHORT else known

    patch.setattr(SocketProcess, "new_id", new_id)


_SHORT = 22
"""Characters of an id that Kafka makes for a member of the consumer protocol."""
_MADE = SocketProcess.new_id


def test_our_answers_in_conversations_are_those_of_the_real_4_4(monkeypatch: pytest.MonkeyPatch) -> None:
    known = read(GOLDEN_OF_4_4)
    found = {}
    with newest() as server:
        player = Player(server.bootstrap)
        for each in known:
            as_recorded(each, monkeypatch)
            different = differences(each, player.play(each.steps, each.answers))
            found.update({(each.seed, at): (each.steps[at - 1], *pair) for at, pair in different.items()})
    assert found == {}
    asked = {(step.api, step.version) for each in known for step in each.steps}
    # What share groups ask has conversations of its own: share_cases.py and tests/slow/test_share_conversations.py.
    served = KEYS.keys() & {api.name for api in APIS.values() if "Share" not in api.name}
    assert {api for api, _ in asked} >= served - OF_TRANSACTIONS
    assert sum(len(each.answers) for each in known) > 2000
