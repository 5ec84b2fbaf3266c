"""Rebalances that the logs show only by what happened before them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from compare.logs.client_events import (
    GivesUpId,
    Joined,
    Moved,
    ToldToRejoin,
)
from compare.logs.drafts import Draft
from compare.logs.events import Event
from compare.logs.identity import client_of
from compare.logs.model import Departure, Ordered

CLOSE_S = 5.0
"""The broker's and the client's lines of the same leave are at most so far apart."""

_ONE_JOIN_S = 2.0
_AT_ONCE_S = 1.0
"""A broker begins a rebalance at once when a member leaves: by its clock, and by the client's."""


_LONGEST_S = 300.0
"""A rebalance waits at most so long for a member (max.poll.interval.ms, as clients have it without a word)."""


def begins_epoch(event: Event) -> bool:
    """Whether an epoch of the consumer protocol is due to the line: of a join, the answer dates it."""
    if isinstance(event, Moved):
        return event.before == "JOINING" or event.after == "PREPARE_LEAVING"
    return isinstance(event, GivesUpId)


def unseen_generations(
    drafts: list[Draft], events: Ordered[Event], departures: Sequence[Departure]
) -> tuple[list[Draft], set[int]]:
    """Rebalances that nobody who writes logs was in: after a member left that does, where numbers are missing and
    nobody else joins again at that time, or after all that the logs tell of. Besides, the departures (by `id`) of which
    it is open whether they led to such a one, or to the rebalance that is known next."""
    found = list(drafts)
    open_: set[int] = set()
    covered = max((event.at for event in events.events if event.stream.role == "broker"), default=float("-inf"))
    left = [each for each in departures if each.events[0].place.sure]
    times = [each.at for each in left]
    ends = [float("-inf"), *(each.over for each in drafts)]
    for place, since in enumerate(ends):
        after = drafts[place] if place < len(drafts) else None
        until = after.over if after is not None else float("inf")
        room = _room(drafts[place - 1] if place else None, after)
        beside = after or (drafts[place - 1] if place else None)
        each_alone = beside is not None and beside.consumer_protocol
        clusters = _clusters(left[bisect_right(times, since) : bisect_left(times, until)], each_alone)
        made = len(found)
        for cluster in clusters if room else []:
            late = after is None and cluster[0].at > covered
            slack = CLOSE_S if after is None or after.begun is None else _AT_ONCE_S
            known = after is not None and after.at_broker and cluster[0].at >= after.at - slack
            back = after is not None and room > 0 and _is_back(cluster, after)
            others = after is not None and room == float("inf") and _joined_by_others(cluster, since, after, events)
            near = after is not None and not after.at_broker and after.over - cluster[-1].at < CLOSE_S
            if near and not (late or back or others):
                open_ |= {id(each) for each in cluster}
            elif late or (after is not None and not known and (back or not others)):
                unsure = len(found) > made and not each_alone and room != len(clusters)
                if unsure and cluster[0].at - found[-1].over < _LONGEST_S:
                    open_ |= {id(each) for each in cluster}  # it may have left while that one was not through
                if room == float("inf") and after is not None and after.over - cluster[-1].at < _LONGEST_S:
                    open_ |= {id(each) for each in cluster}  # it may have led to the first that is known
                number = None
                settled = not place or drafts[place - 1].stabilized is not None
                if not settled and drafts[place - 1].at_broker:
                    open_ |= {id(each) for each in cluster}  # who leaves before it is through begins no other one
                if settled and after is not None and after.generation is not None and room == len(clusters) == 1:
                    number = after.generation - 1
                found.append(_made(cluster, number, after or (drafts[-1] if drafts else None)))
    return sorted(found, key=lambda each: (each.at, each.generation or 0)), open_


def _is_back(cluster: Sequence[Departure], after: Draft) -> bool:
    """Whether one of those who left is in the rebalance under another id: numbers are missing for its leave."""
    left = {client_of(each.member): each.member for each in cluster}
    return any(left.get(client_of(member), member) != member for member in after.seen)


def _made(cluster: Sequence[Departure], number: int | None, beside: Draft | None) -> Draft:
    at = cluster[0].at
    protocol = beside is not None and beside.consumer_protocol
    lines = [event for each in cluster for event in each.events]
    return Draft(
        number,
        departures=list(cluster) if protocol else [],
        consumer_protocol=protocol,
        begun=at,
        ready=cluster[-1].at,
        first=at,
        trigger="other",
        events=lines,
    )


def _room(before: Draft | None, after: Draft | None) -> float:
    """How many rebalances there may be between two."""
    if after is None or after.generation is None:
        return float("inf")
    if before is None or before.generation is None:
        return float("inf") if after.generation > 1 else 0
    return after.generation - before.generation - 1


def _clusters(departures: Sequence[Departure], each_alone: bool) -> list[list[Departure]]:
    """Those who left together; in the consumer protocol each raises an epoch (``each_alone``)."""
    found: list[list[Departure]] = []
    for each in departures:
        if found and not each_alone and each.at - found[-1][-1].at < _ONE_JOIN_S:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _joined_by_others(cluster: Sequence[Departure], since: float, after: Draft, events: Ordered[Event]) -> bool:
    """Whether other members are told to join again when these left, and are in the rebalance that is known next."""
    own = {id(event.stream) for each in cluster for event in each.events}
    joined = {(id(event.stream), event.client) for event in after.events if isinstance(event, Joined)}
    near = events.between(max(since, cluster[0].at - _ONE_JOIN_S), min(after.over, cluster[-1].at + CLOSE_S))
    told = [event for event in near if isinstance(event, ToldToRejoin) and id(event.stream) not in own]
    return any((id(event.stream), event.client) in joined for event in told)


def begin_epochs(drafts: Sequence[Draft], events: Ordered[Event]) -> None:
    """Without the broker's log an epoch began when the member joined or left that it is due to."""
    begins = Ordered(event for event in events.events if begins_epoch(event))
    last = float("-inf")
    for each in drafts:
        if each.consumer_protocol and each.begun is not None:
            moments = [event.at for event in begins.between(each.begun - 3.0, each.begun)]
            each.begun = last = max(last, min(moments, default=each.begun))
