"""Why records were given out again, or given up, where they are given out one by one.

What a reason rests on is how the time ended in which a member had them (`protocols.timeline.records.Given`): that is a
fact, so nothing is guessed. An event is named only if it is about that member and happened in that time.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from compare.formatting import duration, many
from compare.running.reason_kinds import GIVEN_AGAIN, GIVEN_UP, HELD
from compare.running.reasons import Reason, in_common, members_text
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Ended
from protocols.timeline import Timeline
from protocols.timeline.records import Given

Ranges = Mapping[tuple[str, Queue], Sequence[tuple[int, int]]]
"""(Group, queue) to ranges of offsets."""

_NOT_IN_TIME: Final = frozenset({"lock timeout", "invisible time over"})

_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "released": ("what the code cannot handle",),
    "session closed": ("restarts of the members",),
    "leader moved": ("restarts of the brokers",),
    "client gone": ("channelExpiredTimeout",),
}
"""Why records came back to what would change that, where the time for which they are hidden does not."""


def why_given_again(timeline: Timeline, among: Ranges | None = None) -> Iterator[Reason]:
    """A reason for each way in which records came back, weighted with how many there were, with the first event that
    is known to have to do with it. ``among``: of these records only."""
    found: dict[str, list[Given]] = {}
    for given in timeline.given:
        if given.until is None or given.fate in _FINAL:
            continue
        if among is None or any(
            first < given.end and given.first < end for first, end in among.get((given.group, given.queue), ())
        ):
            found.setdefault(given.fate, []).append(given)
    for fate, alike in found.items():
        event = next((event for given in alike if (event := _event(timeline, given)) is not None), None)
        records = sum(given.end - given.first for given in alike)
        members = tuple(sorted({given.member for given in alike}))
        lasted = max((given.until or given.since) - given.since for given in alike)
        yield Reason(
            GIVEN_AGAIN,
            records,
            event,
            _text(fate, members, lasted),
            members,
            lasted,
            records,
            alike=fate,
            settings=_SETTINGS.get(fate, ()),
        )


_FINAL: Final = frozenset({"acknowledged", "archived", "dead letter", "skipped"})


def _event(timeline: Timeline, given: Given) -> str | None:
    """The event about the member in the time in which it had the records."""
    until = timeline.end if given.until is None else given.until
    return next(
        (
            happening.event.text
            for happening in reversed(timeline.causes.happenings)
            if given.since <= happening.at <= until and given.member in happening.members
        ),
        None,
    )


def _text(fate: str, members: tuple[str, ...], lasted: Time) -> str:
    who, several = members_text(members), len(members) != 1
    if fate in _NOT_IN_TIME:
        had = "lock" if fate == "lock timeout" else "invisible time"
        return f"{who} {'do' if several else 'does'} not acknowledge them within their {had} of {_duration(lasted)}"
    return {
        "released": f"{who} {'give' if several else 'gives'} them back",
        "session closed": f"the connection of {who} closes while {'they have' if several else 'it has'} them",
        "leader moved": "the leader moves, and the next one does not know who has them",
        "client gone": f"{who} {'are' if several else 'is'} taken for gone while having them",
    }.get(fate, fate)


def why_given_up(timeline: Timeline, ended: Ended, records: int) -> Reason:
    """Why nobody gets records again that nobody has handled."""
    members = () if ended.member is None else (ended.member,)
    if ended.how == "skipped":
        text = f"{members_text(members)} looked at them and did not want them, and the group has gone on behind them"
        settings = ("subscriptions of the members",)
        return Reason(GIVEN_UP, records, None, text, members, None, records, alike=text, settings=settings)
    attempts = max(
        (
            given.attempt
            for given in timeline.given
            if given.group == ended.group and given.queue == ended.queue and given.fate == ended.how
            if given.first < ended.end and ended.first < given.end
        ),
        default=0,
    )
    what = "are archived" if ended.how == "archived" else "go to the dead letters"
    text = f"they {what} after {many(attempts, 'attempt')}" if attempts else f"they {what} without being given"
    return Reason(GIVEN_UP, records, None, text, members, None, records, alike=text)


def held(timeline: Timeline, group: str, queue: Queue, since: Time, until: Time) -> tuple[Time, Reason] | None:
    """How long, between two times, members had records of the queue, and that as a reason; None where nobody had."""
    having = [
        (in_common(given.since, timeline.end if given.until is None else given.until, since, until), given)
        for given in timeline.given
        if given.group == group and given.queue == queue
    ]
    having = [each for each in having if each[0]]
    if not having:
        return None
    members = tuple(sorted({given.member for _, given in having}))
    records = sum(given.end - given.first for _, given in having)
    covers = max(lasted for lasted, _ in having)
    text = f"{members_text(members)} {'has' if len(members) == 1 else 'have'} {many(records, 'record')} in hand"
    return covers, Reason(HELD, 0.0, None, text, members, covers, records)


def _duration(lasted: Time) -> str:
    return duration(lasted / 1000)
