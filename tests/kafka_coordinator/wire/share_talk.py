"""Random conversations of two members of a share group with the leader of their partition, to which two transactional
producers write as well. The same seed gives the same conversation with every broker that answers alike; what a broker
does behind its answers is waited for."""

import time
from dataclasses import replace
from random import Random
from struct import unpack_from
from typing import Any

from tests.kafka_coordinator.wire.broker_cases import Ask, Case
from tests.kafka_coordinator.wire.share_cases import ACCEPT, GAP, ISOLATION, REJECT, RELEASE, Producer, Share, untold

_LENGTH, _SETTLES_S = 36, 0.3
_DOES = {
    "produce": 2,
    "write": 4,
    "end": 3,
    "fetch": 6,
    "acknowledge": 6,
    "both": 3,
    "close": 1,
    "offsets": 2,
    "isolate": 1,
}
_LEVELS = ("read_committed", "read_committed", "read_uncommitted")
_TYPES = (ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT, GAP)


def conversation(seed: int) -> Case:
    """The case of this seed."""

    def talk(ask: Ask, topic: str) -> list[Any]:
        random = Random(seed)
        limit, level = str(random.choice([2, 3, 5])), random.choice(_LEVELS)
        it = Share(ask, topic, **{"share.delivery.count.limit": limit, ISOLATION: level})
        producers = [Producer(it, name) for name in "pq"]
        answers, epochs = it.join(), {"m": 0, "n": 0}
        held: dict[str, list[int]] = {"m": [], "n": []}
        for _ in range(_LENGTH):
            who = random.choice("mmn")
            does = random.choices(list(_DOES), list(_DOES.values()))[0]
            if does == "produce":
                it.produce(*(b"%d" % random.randrange(99) for _ in range(random.randint(1, 6))))
            elif does == "write":
                random.choice(producers).write(*(b"%d" % random.randrange(99) for _ in range(random.randint(1, 4))))
            elif does == "end":
                random.choice(producers).end(commits=random.random() < 0.4)
            elif does == "isolate":
                it.configure(**{ISOLATION: random.choice(_LEVELS)})
            elif does == "offsets":
                answers.append(it.offsets())
            elif does == "close":
                if epochs[who]:
                    answers.append(it.acknowledge(-1, member=who))
                    epochs[who], held[who] = 0, []
            else:
                acknowledged = _some(random, held[who]) if does != "fetch" and epochs[who] else []
                if does == "acknowledge" and epochs[who]:
                    answers.append(untold(it.acknowledge(epochs[who], *acknowledged, member=who)))
                else:
                    fetched = _fetch(random, it, epochs[who], acknowledged, who)
                    answers.append(untold(_steady(fetched)))
                    held[who] += [offset for row in _acquired(fetched) for offset in row]
                epochs[who] += 1
            time.sleep(_SETTLES_S)
        return answers

    return talk


def _some(random: Random, held: list[int]) -> list[tuple[int, int, list[int]]]:
    """Acknowledgements of some that the member holds, which it holds no longer; now and then of others."""
    held.sort()
    found: list[tuple[int, int, list[int]]] = []
    for offset in held[: random.randint(1, 4)]:
        if random.random() < 0.8:
            found.append((offset, offset, [random.choice(_TYPES)]))
            held.remove(offset)
    if random.random() < 0.12:
        last = found[-1][1] if found else 0
        found.append((last + 3, last + 3 + random.choice([0, 50]), [ACCEPT]))
    return found


def _fetch(random: Random, it: Share, epoch: int, acknowledged: list[tuple[int, int, list[int]]], who: str) -> Any:
    sizes = {"max_records": random.choice([1, 3, 500]), "batch_size": random.choice([2, 500])}
    mode = random.choice([0, 0, 1])
    return it.fetch(epoch, *acknowledged, member=who, max_wait=200, share_acquire_mode=mode, **sizes)


def _acquired(fetched: Any) -> list[range]:
    return [
        range(row.first_offset, row.last_offset + 1)
        for topic in fetched.responses
        for partition in topic.partitions
        for row in partition.acquired_records
    ]


def _steady(fetched: Any) -> Any:
    """Without what differs from broker to broker in the headers of batches: checksums, times, producers."""
    topics = [
        replace(topic, partitions=tuple([replace(each, records=_batches(each.records)) for each in topic.partitions]))
        for topic in fetched.responses
    ]
    return replace(fetched, responses=tuple(topics))


def _batches(records: bytes | None) -> bytes:
    found, at = b"", 0
    while records is not None and at < len(records):
        end = at + 12 + unpack_from(">i", records, at + 8)[0]
        found += records[at : at + 17] + bytes(4) + records[at + 21 : at + 27] + bytes(26) + records[at + 53 : end]
        at = end
    return found
