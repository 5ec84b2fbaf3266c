"""Committed offsets: which were taken, which refused, and which went back."""

from collections.abc import Iterable
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.facts import Committed
from protocols.queues import Queue


class Commit(NamedTuple):
    """An offset that a broker was asked to take at ``at``.

    ``member`` is None for an administrator, ``error`` empty where the offset was taken. ``before``: the offset that
    stood there, None where there was none.
    """

    at: Time
    group: str
    queue: Queue
    offset: int
    member: str | None
    generation: int | None
    error: str
    before: int | None

    @property
    def fact(self) -> Committed:
        """The fact that it was made from."""
        return Committed(self.group, self.queue, self.offset, self.member, self.generation, self.error)

    @property
    def taken(self) -> bool:
        """Whether the broker took it."""
        return not self.error

    @property
    def back(self) -> bool:
        """Whether it was taken and lies before what stood there."""
        return not self.error and self.before is not None and self.offset < self.before


def commits(facts: Iterable[tuple[Time, Committed]]) -> list[Commit]:
    """The commits in the order in which brokers saw them."""
    stands: dict[tuple[str, Queue], int] = {}
    found = []
    for now, fact in facts:
        key = fact.group, fact.queue
        found.append(Commit(now, *fact, stands.get(key)))
        if not fact.error:
            stands[key] = fact.offset
    return found


def back_within_a_generation(all_commits: Iterable[Commit]) -> list[Commit]:
    """Commits of members that lie before another one of the same generation (where systems have none: of any).

    What an administrator sets begins anew.
    """
    highest: dict[tuple[str, Queue], tuple[int | None, int]] = {}
    found = []
    for each in all_commits:
        if not each.taken:
            continue
        key = each.group, each.queue
        before = highest.get(key)
        if each.member is None:
            highest.pop(key, None)
        elif before is not None and before[0] == each.generation and each.offset < before[1]:
            found.append(each)
        else:
            highest[key] = each.generation, each.offset
    return found
