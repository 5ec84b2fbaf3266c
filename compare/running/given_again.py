"""Why records were given out again, or given up, where they are given out one by one.

What a reason rests on is how the time ended in which a member had them (`protocols.timeline.records.Given`): that is a
fact, so nothing is guessed. An event is named only if it is about that member and happened in that time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final

from compare.formatting import duration, many
from compare.running.reason_kinds import GIVEN_AGAIN, GIVEN_UP, HELD
from compare.running.reasons import Reason, in_common, members_text
from compare.running.work import ReadQueue
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Committed, Delivered, Ended
from protocols.offsets import OffsetSet
from protocols.timeline import Timeline
from protocols.timeline.order import Pace
from protocols.timeline.records import BY_RESET, Given, most_hidden

Ranges = Mapping[tuple[str, Queue], Sequence[tuple[int, int]]]
"""(Group, queue) to ranges of offsets."""

_NOT_IN_TIME: Final = frozenset({"lock timeout", "invisible time over"})

_EXPIRED: Final = "client expired"
"""A client that is gone, where it took its proxy long to find out."""

_UNHEARD: Final = "client or request gone"
"""Nothing has happened to the member: the proxy dropped its client, or had given the request up."""

_AT_ONCE_MS: Final[Time] = 60_000.0
"""What a lost connection or request brings about has come back after this time: copies wait for so long at most."""

_CLOSES_MS: Final[Time] = 30_000.0
"""A consumer that closes waits at most so long for answers that it has asked for (`KafkaConsumer.close`)."""

_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "released": ("what the code cannot handle",),
    "session closed": ("restarts of the members",),
    "leader moved": ("restarts of the brokers",),
    "client gone": ("restarts of the members",),
    _EXPIRED: ("channelExpiredTimeout",),
    _UNHEARD: ("not known",),
}
"""Why records came back to what would change that, where the time for which they are hidden does not."""


def why_given_again(timeline: Timeline, among: Ranges | None = None) -> Iterator[Reason]:
    """A reason for each way in which records came back and each event that has to do with it, weighted with how many
    there were. ``among``: of these records only."""
    found: dict[tuple[str, str | None], list[Given]] = {}
    for given in timeline.given:
        if given.until is None or given.fate in _FINAL:
            continue
        if among is None or any(
            first < given.end and given.first < end for first, end in among.get((given.group, given.queue), ())
        ):
            found.setdefault((_way(timeline, given), _event(timeline, given)), []).append(given)
    yield from _by_reset(timeline, among)
    for (fate, event), alike in found.items():
        records = sum(given.end - given.first for given in alike)
        members = tuple(sorted({given.member for given in alike}))
        hidden = max(given.due - given.since for given in alike)
        yield Reason(
            GIVEN_AGAIN,
            records,
            event,
            _text(fate, members, alike),
            members,
            hidden,
            records,
            alike=fate,
            settings=_settings(timeline, fate, alike),
        )


def why_overtaken(timeline: Timeline) -> Iterator[Reason]:
    """A reason for each way in which records came back that were handled only after later ones of their queue, weighted
    with how many of these were begun meanwhile."""
    deliveries: dict[tuple[str, Queue], list[Delivered]] = {}
    for delivery in sorted(timeline.deliveries, key=_SINCE):
        deliveries.setdefault((delivery.group, delivery.queue), []).append(delivery)
    overtook: dict[tuple[str, Queue], OffsetSet] = {}
    found: dict[tuple[str, str | None], tuple[list[Given], list[int]]] = {}
    for given in timeline.given:
        key = given.group, given.queue
        if given.until is None or given.fate in _FINAL or key not in deliveries:
            continue
        of_queue = deliveries[key]
        start = bisect_left(of_queue, given.since, key=_SINCE)
        after = islice(of_queue, start, None)
        again = (each for each in after if each.first < given.end and given.first < each.end)
        handled = next(
            (Pace.of(each).ended(min(given.end, each.end) - 1) for each in again if each.since >= given.until),
            timeline.end,
        )
        meanwhile = of_queue[start : bisect_left(of_queue, handled, start, key=_SINCE)]
        later = [each for each in meanwhile if given.end <= each.first]
        done = overtook.setdefault(key, OffsetSet())
        count = sum(each.end - each.first - done.count(each.first, each.end) for each in later)
        for each in later:
            done.add(each.first, each.end)
        alike, counts = found.setdefault((_way(timeline, given), _event(timeline, given)), ([], []))
        alike.append(given)
        counts.append(count)
    for (fate, event), (alike, counts) in found.items():
        members, weight = tuple(sorted({each.member for each in alike})), sum(counts)
        text = f"{_text(fate, members, alike)}, and later ones are handled meanwhile"
        settings = _settings(timeline, fate, alike)
        yield Reason(GIVEN_AGAIN, weight, event, text, members, None, weight, alike=fate, settings=settings)


_SINCE = attrgetter("since")


def _settings(timeline: Timeline, fate: str, alike: Sequence[Given]) -> tuple[str, ...]:
    """Names of what would change that records came back so."""
    if fate == "session closed" and not any(
        timeline.causes.ended_between(
            each.member, each.since - _CLOSES_MS, timeline.end if each.until is None else each.until
        )
        for each in alike
    ):
        return ("connections of the members",)
    return _SETTINGS.get(fate, ())


_FINAL: Final = frozenset({"acknowledged", "archived", "dead letter", "skipped", BY_RESET})


def _by_reset(timeline: Timeline, among: Ranges | None) -> Iterator[Reason]:
    """A reason for each queue whose offset an administrator has set, so that records begin anew."""
    for now, commit in timeline.told(Committed):
        if commit.member is not None or commit.error or commit.group not in timeline.without_owners:
            continue
        before, after = OffsetSet(), OffsetSet()
        for given in timeline.given:
            if (given.group, given.queue) == (commit.group, commit.queue) and given.end > commit.offset:
                # Nobody has any of them once the offset is set.
                of_time = before if given.until is not None and given.until <= now else after
                of_time.add(max(given.first, commit.offset), given.end)
        of_these = [*after.ranges()] if among is None else among.get((commit.group, commit.queue), ())
        both = ((max(one[0], two[0]), min(one[1], two[1])) for one in after.ranges() for two in of_these)
        again = sum(before.count(*each) for each in both)
        resets = [each.text for each in timeline.causes.happenings if each.at <= now and each.of_offsets]
        event = resets[-1] if resets else None
        if again:
            text = "they begin anew"
            yield Reason(GIVEN_AGAIN, again, event, text, (), None, again, alike=text, settings=("resets of offsets",))


def _way(timeline: Timeline, given: Given) -> str:
    """How the time ended, with three kinds of clients that are gone: `_EXPIRED`, `_UNHEARD`, ended by an event."""
    if given.fate != "client gone":
        return given.fate
    until = timeline.end if given.until is None else given.until
    of_member = [each for each in timeline.causes.happenings if each.at <= until and given.member in each.members]
    ends = [each.at for each in of_member if each.acts_late]
    if ends and until - ends[-1] > _AT_ONCE_MS:
        return _EXPIRED
    return given.fate if of_member else _UNHEARD


def _event(timeline: Timeline, given: Given) -> str | None:
    """The latest event about the member in the time in which it had the records; one that takes it away (a crash, a
    hang) before its new start, or had taken it away when a request of it that still waited got them; of a
    closed session, the end of its process before."""
    until = timeline.end if given.until is None else given.until
    about = [
        happening
        for happening in timeline.causes.happenings
        if given.since <= happening.at <= until and given.member in happening.members
        if not (happening.of_topics and given.fate in _NOT_IN_TIME)
    ]
    found = [happening for happening in about if happening.acts_late] or about
    away = timeline.causes.away.get(given.member, ())
    if not found and any(since <= given.since < until for since, until in away):
        happened = (each for each in timeline.causes.happenings if each.at <= given.since)
        found = [each for each in happened if each.acts_late and given.member in each.members]
    if not found and given.fate == "session closed":
        closing = timeline.causes.first_end(given.member, given.since - _CLOSES_MS, until)
        found = [each for each in timeline.causes.happenings if each.at == closing and given.member in each.members]
    return found[-1].event.text if found else None


def _text(fate: str, members: tuple[str, ...], alike: Sequence[Given]) -> str:
    them = "it" if sum(given.end - given.first for given in alike) == 1 else "them"
    hidden = max(given.due - given.since for given in alike)
    who, several = members_text(members), len(members) != 1
    if fate in _NOT_IN_TIME:
        had = "lock" if fate == "lock timeout" else "invisible time"
        renewed = ", renewals included" if any(each.renewed for each in alike) else ""
        in_time = f"within the {had} of {_duration(hidden)}{renewed}"
        return f"{who} {'do' if several else 'does'} not acknowledge {them} {in_time}"
    return {
        "released": f"{who} {'give' if several else 'gives'} {them} back",
        "session closed": f"the connection of {who} closes while {'they have' if several else 'it has'} {them}",
        "leader moved": f"the leader moves, and the next one does not know who has {them}",
        "client gone": f"the {'clients' if several else 'client'} of {who} {'are' if several else 'is'} gone",
        _UNHEARD: f"the proxy gives {them} back, as {who} or the requests for {them} are gone",
        _EXPIRED: f"{who} {'are' if several else 'is'} taken for gone while having {them}",
    }.get(fate, fate)


def why_given_up(timeline: Timeline, passed: Iterable[tuple[Ended, int]], most: int | None) -> Iterator[Reason]:
    """Why nobody gets records again that nobody has handled, for each way in which they ended; ``passed``: how each
    stretch of them did, and how many it has. ``most``: so often members are given one; RocketMQ's proxy takes it once
    more, and buries it (None: nobody does)."""
    found: dict[tuple[str, int, str | None], list[tuple[Ended, int]]] = {}
    for ended, records in passed:
        skipped = ended.how == "skipped"
        attempts = 0 if skipped else _attempts(timeline, ended)
        key = ended.how, attempts if most is None else min(attempts, most), ended.member if skipped else None
        found.setdefault(key, []).append((ended, records))
    for (how, attempts, member), alike in found.items():
        records = sum(count for _, count in alike)
        they, them, are, go = ("it", "it", "is", "goes") if records == 1 else ("they", "them", "are", "go")
        settings: tuple[str, ...] = ()
        if how == "skipped":
            who = members_text(() if member is None else (member,))
            text = f"{who} looked at {them} and did not want {them}, and the group has gone on behind {them}"
            settings = ("subscriptions of the members",)
        else:
            what = f"{are} archived" if how == "archived" else f"{go} to the dead letters"
            after = f"after {many(attempts, 'attempt')}" if attempts else "without being given"
            text = f"{they} {what} {after}"
        members = tuple(sorted({ended.member for ended, _ in alike if ended.member is not None}))
        yield Reason(GIVEN_UP, records, None, text, members, None, records, alike=text, settings=settings)


def _attempts(timeline: Timeline, ended: Ended) -> int:
    """How often the records were given out; 0 where nobody was given them."""
    return max(
        (
            given.attempt
            for given in timeline.given
            if given.group == ended.group and given.queue == ended.queue and given.fate == ended.how
            if given.first < ended.end and ended.first < given.end
        ),
        default=0,
    )


def held(timeline: Timeline, read: ReadQueue, since: Time, until: Time) -> Iterator[tuple[Time, Reason]]:
    """How long, between two times, members had records of the queue, and that as a reason; nothing where nobody had."""
    having = [
        (in_common(given.since, timeline.end if given.until is None else given.until, since, until), given)
        for given in timeline.given
        if given.group == read.reader and given.queue == read.queue
    ]
    having = [each for each in having if each[0]]
    if not having:
        return
    members = tuple(sorted({given.member for _, given in having}))
    records = most_hidden([given for _, given in having])
    covers = max(lasted for lasted, _ in having)
    text = f"{members_text(members)} {'has' if len(members) == 1 else 'have'} {many(records, 'record')} in hand"
    yield covers, Reason(HELD, 0.0, None, text, members, covers, records)


def _duration(lasted: Time) -> str:
    return duration(lasted / 1000)
