"""What became of numbered records: lost, handled twice, still waiting."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

BY_LINES, BY_REQUESTS = "printed lines", "fetches and commits"

Q = TypeVar("Q")
"""What a queue is called by."""


@dataclass(slots=True)
class Outcome:
    """What became of the records. ``judged_by``: `BY_LINES` or `BY_REQUESTS`."""

    judged_by: str
    written: int
    handled: int
    lost: int
    """Committed, though nobody handled them: no member of the group will ever read them."""
    twice: int
    """Handled more than once."""
    waiting: int
    """Neither handled nor committed when the situation was over."""


def counted(
    written: Mapping[Q, int],
    begins: Mapping[Q, int],
    done: Mapping[Q, int],
    printed: Iterable[tuple[Q, int]],
    fetched: Iterable[tuple[Q, int]],
) -> Outcome:
    """Of the records of each queue from where the group began up to what was written; ``done``: what is committed,
    ``printed``: what programs say to have handled, ``fetched``: what they were given, which counts where they say
    nothing."""
    told = Counter(printed)
    handled = told or Counter(fetched)
    every = [(queue, offset) for queue, end in written.items() for offset in range(begins.get(queue, 0), end)]
    return Outcome(
        BY_LINES if told else BY_REQUESTS,
        len(every),
        len(handled),
        sum(1 for queue, offset in every if offset < done.get(queue, 0) and (queue, offset) not in handled),
        sum(1 for count in handled.values() if count > 1),
        sum(1 for queue, offset in every if offset >= done.get(queue, 0) and (queue, offset) not in handled),
    )


def none_waits(
    written: Mapping[Q, int], begins: Mapping[Q, int], done: Mapping[Q, int], printed: Iterable[tuple[Q, int]]
) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    handled = set(printed)
    for queue, end in written.items():
        first = max(done.get(queue, 0), begins.get(queue, 0))
        if first < end and not (handled and all((queue, at) in handled for at in range(first, end))):
            return False
    return True
