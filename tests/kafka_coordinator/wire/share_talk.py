"""Random conversations of two members of a share group with the leader of their partition. The same seed gives the same
conversation with every broker that answers alike; what a broker does behind its answers is waited for."""

import time
from random import Random
from typing import Any

from tests.kafka_coordinator.wire.broker_cases import Ask, Case
from tests.kafka_coordinator.wire.share_cases import ACCEPT, GAP, REJECT, RELEASE, Share, untold

_LENGTH, _SETTLES_S = 28, 0.15
_DOES = {"produce": 3, "fetch": 6, "acknowledge": 6, "both": 3, "close": 1, "offsets": 1}
_TYPES = (ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT, GAP)


def conversation(seed: int) -> Case:
    """The case of this seed."""

    def talk(ask: Ask, topic: str) -> list[Any]:
        random = Random(seed)
        it = Share(ask, topic, **{"share.delivery.count.limit": str(random.choice([2, 3, 5]))})
        answers, epochs = it.join(), {"m": 0, "n": 0}
        held: dict[str, list[int]] = {"m": [], "n": []}
        for _ in range(_LENGTH):
            who = random.choice("mmn")
            does = random.choices(list(_DOES), list(_DOES.values()))[0]
            if does == "produce":
                it.produce(*(b"%d" % random.randrange(99) for _ in range(random.randint(1, 6))))
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
                    answers.append(untold(fetched))
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
