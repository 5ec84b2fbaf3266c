"""How many queues a topic has, how many of them nobody owns and how many have several owners.

Queues are counted as bits: 64 neighbouring numbers of one broker are one word, and a row says which of them one
member owns (or, without a member, which of them exist without being owned there). However rows were put together
before, the answer is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compare.measure.figures.rows import Numbers
from protocols.errors import UserError

Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class QueueBits:
    """One entry per word and owner: ``word`` (any number; a word belongs to one topic of a group), ``topic``,
    ``member`` (-1: nobody) and ``bits``; ``rows`` counts the rows it was made of, one per queue and owner."""

    word: Numbers
    topic: Numbers
    member: Numbers
    bits: Bits
    rows: Numbers | None = None


def count_queues(
    found: QueueBits, topics: int, listed_twice: Callable[[int], UserError]
) -> tuple[Numbers, Numbers, Numbers]:
    """Per topic of a group the number of queues, of those without owner, of those with several owners.

    ``listed_twice``: the error to raise for a topic (by its number) with a queue that is listed twice for one owner.
    """
    nothing = np.zeros(topics, dtype=np.int64)
    if not len(found.word):
        return nothing, nothing, nothing
    is_owned = found.member >= 0
    size = np.bitwise_count(found.bits).astype(np.int64)
    if found.rows is not None:
        again = is_owned & (found.rows > size)
        if again.any():
            raise listed_twice(int(found.topic[np.argmax(again)]))
    order = np.argsort(found.word, kind="stable")
    word = found.word[order]
    new = np.ones(len(word), dtype=bool)
    new[1:] = word[1:] != word[:-1]
    runs = np.flatnonzero(new)
    bits, owned = found.bits[order], is_owned[order]
    topic = found.topic[order][runs]
    exist = np.bitwise_count(np.bitwise_or.reduceat(bits, runs)).astype(np.int64)
    with_owner = np.bitwise_count(np.bitwise_or.reduceat(np.where(owned, bits, 0), runs)).astype(np.int64)
    shares = np.add.reduceat(np.where(owned, size[order], 0), runs)
    several = np.zeros(len(runs), dtype=np.int64)
    crowded = shares > with_owner
    if crowded.any():
        run = np.cumsum(new) - 1
        chosen = owned & crowded[run]
        several += _several(
            run[chosen],
            found.member[order][chosen],
            bits[chosen],
            len(runs),
            lambda run: listed_twice(int(topic[run])),
        )

    def per_topic(values: Numbers) -> Numbers:
        return np.bincount(topic, weights=values, minlength=topics).astype(np.int64)

    return per_topic(exist), per_topic(exist - with_owner), per_topic(several)


def _several(run: Numbers, member: Numbers, bits: Bits, runs: int, listed_twice: Callable[[int], UserError]) -> Numbers:
    """Per run how many of its bits are set for at least two members."""
    result = np.zeros(runs, dtype=np.int64)
    for bit in range(64):
        is_set = (bits >> np.uint64(bit)) & np.uint64(1) == 1
        if not is_set.any():
            continue
        order = np.lexsort((member[is_set], run[is_set]))
        of_run, of_member = run[is_set][order], member[is_set][order]
        same = of_run[1:] == of_run[:-1]
        again = same & (of_member[1:] == of_member[:-1])
        if again.any():
            raise listed_twice(int(of_run[1:][np.argmax(again)]))
        result[np.unique(of_run[1:][same])] += 1
    return result
