"""Properties of records that are given out one by one (share groups, POP).

What is watched are the facts of brokers: who is given which record for the how-manieth time, and how it ends. A member
may handle a record late, when another one has ended it; so no property says that it never does. That its own
acknowledgement counts no more then is what the first of these is about.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from protocols.facts import Acquired, Ended
from protocols.java import Queue

STAYS_ENDED: Final = "ended-records-stay-ended"
KEPT: Final = "no-record-lost-early"
EVERY_RECORD: Final = "every-record-ends"

Record: TypeAlias = tuple[str, Queue, int]
"""Group, queue and offset."""

_DEFAULTS: Final[Mapping[str, tuple[str, int]]] = {
    "kafka:share": ("group.share.delivery.count.limit", 5),
    "rocketmq:POP": ("maxReconsumeTimes", 16),
}


def least_attempts(system: str, settings: Mapping[str, object]) -> int:
    """How often a record is given before its system may give it up; 1 where the user's code rejects it."""
    name, usual = _DEFAULTS.get(system, ("", 1))
    value = settings.get(name, usual)
    return 1 if settings.get("on.error") == "reject" or not isinstance(value, int) else value


class Lives(NamedTuple):
    """What a process has told of records: the ones given, with the highest number of an attempt, those that ended, and
    whether anything was wrong."""

    attempts: tuple[tuple[Record, int], ...] = ()
    ended: frozenset[Record] = frozenset()
    wrong: bool = False


def records_of(fact: Acquired | Ended) -> list[Record]:
    """The records of a fact, one by one."""
    return [(fact.group, fact.queue, offset) for offset in range(fact.first, fact.end)]


class OpenRecords:
    """No property: what was given and has not ended, for those who ask what the fair run leads to."""

    name: str = "open records"
    nothing = Lives()

    def remember(self, before: Lives, fact: tuple[object, ...]) -> Lives:
        """See `protocols.engine.exploration.Watch`, as for all that follows."""
        if isinstance(fact, Acquired):
            attempts = dict(before.attempts) | dict.fromkeys(records_of(fact), fact.attempt)
            wrong = before.wrong or self.is_wrong(before, fact)
            return Lives(tuple(sorted(attempts.items())), before.ended, wrong)
        if isinstance(fact, Ended):
            return Lives(
                before.attempts, before.ended.union(records_of(fact)), before.wrong or self.is_wrong(before, fact)
            )
        return before

    def is_wrong(self, before: Lives, fact: Acquired | Ended) -> bool:
        return False

    def is_violated(self, remembered: Sequence[Lives]) -> bool:
        return any(lives.wrong for lives in remembered)


class StaysEnded(OpenRecords):
    """No record is given out after it ended, be it acknowledged or given up."""

    name = STAYS_ENDED

    def is_wrong(self, before: Lives, fact: Acquired | Ended) -> bool:
        return isinstance(fact, Acquired) and not before.ended.isdisjoint(records_of(fact))


class KeptWhileAllowed(OpenRecords):
    """No record is given up, archived or among the dead letters, that was given less often than is allowed."""

    name = KEPT

    def __init__(self, least: int = 5) -> None:
        self._least = least

    def is_wrong(self, before: Lives, fact: Acquired | Ended) -> bool:
        if not isinstance(fact, Ended) or fact.how not in ("archived", "dead letter"):
            return False
        attempts = dict(before.attempts)
        # One that this process never gave was given by another, whose count is not known here.
        return any(attempts.get(record, self._least) < self._least for record in records_of(fact))


def open_records(remembered: Iterable[Lives]) -> frozenset[Record]:
    """Those that anybody was given and that have not ended."""
    every = list(remembered)
    given = {record for lives in every for record, _ in lives.attempts}
    return frozenset(given.difference(*(lives.ended for lives in every)))
