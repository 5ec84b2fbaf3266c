"""Properties of records that are given out one by one (share groups, POP).

What is watched are the facts of brokers: who is given which record for the how-manieth time, and how it ends. A member
may handle a record late, when another one has ended it; so no property says that it never does. That its own
acknowledgement counts no more then is what the first of these is about.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from compare.running.setting_values import most_given
from compare.running.variants import Variant
from protocols.facts import Acquired, Ended
from protocols.java import Queue
from protocols.scenario.events import Configure, Join, Restart
from protocols.scenario.model import Scenario

STAYS_ENDED: Final = "ended-records-stay-ended"
KEPT: Final = "no-record-lost-early"
EVERY_RECORD: Final = "every-record-ends"

Record: TypeAlias = tuple[str, Queue, int]
"""Group, queue and offset."""

_LIMIT: Final = "share.delivery.count.limit"


def least_attempts(variant: Variant) -> Mapping[str, int]:
    """How often a record of each group is given before its system may give it up; once where the user's code rejects
    it. Of a limit that an administrator changes, the lowest."""
    part, scenario = variant.part, variant.scenario
    of_members = [each.settings for group in scenario.groups.values() for each in group.members.values()]
    of_members += [event.settings for event in scenario.events if isinstance(event, Join | Restart)]
    if any(settings.get("on.error") == "reject" for settings in (part.settings, *of_members)):
        return dict.fromkeys(scenario.groups, 1)
    most = most_given(variant)
    if most is not None:
        # In order the client tries again by itself, and brokers do not hear of it.
        return dict.fromkeys(scenario.groups, 1 if part.settings.get("consumeMessageOrderly") else most)
    of_broker = _whole(part.settings, f"group.{_LIMIT}", 5)
    return {
        name: min(
            _whole(settings, _LIMIT, of_broker)
            for settings in (group.settings, *(each.settings for each in _configured(scenario, name)))
        )
        for name, group in scenario.groups.items()
    }


def _configured(scenario: Scenario, group: str) -> Iterator[Configure]:
    """The changes of the limit of a group."""
    for event in scenario.events:
        if isinstance(event, Configure) and event.configure == group and _LIMIT in event.settings:
            yield event


def _whole(settings: Mapping[str, object], name: str, usual: int) -> int:
    value = settings.get(name)
    return value if isinstance(value, int) else usual


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

    def __init__(self, least: Mapping[str, int]) -> None:
        self._least = least

    def is_wrong(self, before: Lives, fact: Acquired | Ended) -> bool:
        if not isinstance(fact, Ended) or fact.how not in ("archived", "dead letter"):
            return False
        attempts = dict(before.attempts)
        # One that this process never gave was given by another, whose count is not known here.
        least = self._least.get(fact.group, 1)
        return any(attempts.get(record, least) < least for record in records_of(fact))


def open_records(remembered: Iterable[Lives]) -> frozenset[Record]:
    """Those that anybody was given and that have not ended."""
    every = list(remembered)
    given = {record for lives in every for record, _ in lives.attempts}
    return frozenset(given.difference(*(lives.ended for lives in every)))
