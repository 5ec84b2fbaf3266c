"""The served broker answers as the real one does in whole conversations, with members, administrators, producers and
readers beside each other: 462 answers of a real 4.1.0 that an earlier served broker did not give."""

from pathlib import Path

from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire.replaying import Player, differences, read
from tests.kafka_coordinator.wire.serving import serving

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka" / "conversations-4.1.jsonl.gz"

NOT_ALIKE: dict[str, set[tuple[int, int]]] = {
    "the real broker was just starting, and its coordinators had not read their logs yet": {
        *((4217000, at) for at in range(4, 32)),
        *((4217004, at) for at in (23, 26)),
    },
    "transactions": {
        (6011004, 31),
        (6011014, 29),
        (6011030, 23),
        (6011034, 15),
        (6011050, 14),
        (6011054, 8),
        *((6011064, at) for at in (7, 18)),
        (6011074, 29),
    },
    "a classic member's generated id stands before or behind those of others, and assignors go by that": {
        *((4217002, at) for at in (15, 30, 31, 32)),
        *((6011002, at) for at in (10, 12)),
        (6011022, 17),
        (6011052, 47),
        *((6011032, at) for at in (19, 27, 36, 42)),
        (6011062, 46),
    },
    "a topic that is deleted and created again is another one, even where a member still has the first": {
        *((6011031, at) for at in (41, 45)),
    },
}
"""Why the answers to some steps, by seed and number, are others."""


def test_our_answers_in_conversations_are_those_of_the_real_4_1() -> None:
    known = read(GOLDEN)
    found = {}
    with serving({}, version=VERSIONS["4.1"]) as server:
        player = Player(server.bootstrap)
        for each in known:
            different = differences(each, player.play(each.steps))
            found.update({(each.seed, at): (each.steps[at - 1], *pair) for at, pair in different.items()})
    explained = set().union(*NOT_ALIKE.values())
    assert {at: told for at, told in found.items() if at not in explained} == {}
    assert sum(len(each.answers) for each in known) == 462
