"""The order of requests: which of a recording's requests come in an order that can be compared, and how.

A client's threads run side by side: the one that starts it or shuts it down, the one with the periodic tasks, the one
that rebalances, the one that renews locks; brokers' notices come in between. Which thread is a millisecond earlier is
chance, and how periodic requests interleave depends on phases. What is no chance:

* which kinds of requests a member sends or is sent at all in each phase of the script, and to or from whom any member;
* in its whole life, which kind occurs first, second, ...;
* in its start (as many questions for routes as the starting thread asks, the first heartbeats, up to the first question
  for the group's members), what comes before what, each request on its own (the second question for a route is another
  than the first);
* its leave-taking: whatever is in all runs is there, and what comes before what;
* how heartbeats, and the requests by which it takes leave, go round the brokers.

"Before" is compared wherever all runs that have both agree. Unlocks are left out of lives: most are not answered, the
real client hands them to another thread, and what was sent after them may be earlier.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from compare.conformance.rocketmq_recordings.happened import Request
from rocketmq_selfbalance.cluster import (
    REQUEST_CODES,
    GetConsumerListByGroup,
    GetRouteInfo,
    HeartBeat,
    UnlockBatchMq,
    UnregisterClient,
)

Order: TypeAlias = tuple[str, ...]
"""Names of kinds of requests, or of requests, in the order of their (first) occurrence."""

_HEARTBEAT, _LEAVE = REQUEST_CODES[HeartBeat], REQUEST_CODES[UnregisterClient]
_ASK, _UNLOCK = REQUEST_CODES[GetConsumerListByGroup], REQUEST_CODES[UnlockBatchMq]

_ROUTE = REQUEST_CODES[GetRouteInfo]
_OF_START = (_ROUTE, _HEARTBEAT, _ASK)
_OF_LEAVE = (_LEAVE, _UNLOCK)


class Turn(NamedTuple):
    """A member starts, or takes leave, at this time of the recording."""

    member: str
    since: float
    leaves: bool
    routes: int
    """How many questions for routes belong to a start. The first poll asks as many in a thread of its own."""


def life(requests: Iterable[Request]) -> Order:
    """The codes in the order of their first occurrence."""
    return tuple(dict.fromkeys(str(request.code) for request in requests if request.code != _UNLOCK))


def turn(requests: Iterable[Request], turn: Turn, until: float) -> Order:
    """The requests of a turn, each with its broker and, from the second on, its number. A start ends with the first
    question for the group's members; at the latest a turn ends at ``until``."""
    times: dict[str, int] = {}
    found: list[str] = []
    wanted = _OF_LEAVE if turn.leaves else _OF_START
    for request in requests:
        if not turn.since <= request.at < until or request.code not in wanted:
            continue
        name = str(request.code) if request.code == _ASK else f"{request.code} {request.peer}"
        times[name] = times.get(name, 0) + 1
        if not turn.leaves and times[name] > (turn.routes if request.code == _ROUTE else 1):
            continue
        found.append(name if times[name] == 1 else f"{name} #{times[name]}")
        if request.code == _ASK:
            break
    return tuple(found)


def follows(requests: Iterable[Request]) -> frozenset[str]:
    """Which broker follows which in a member's heartbeats and leave-takings."""
    of: dict[int, list[str]] = {}
    for request in requests:
        if request.code in (_HEARTBEAT, _LEAVE):
            of.setdefault(request.code, ["the first"]).append(request.peer)
    return frozenset(
        f"{code} {after} after {before}" for code, peers in of.items() for before, after in pairwise(peers)
    )


def out_of_order(real: Order, runs: Sequence[Order]) -> list[str]:
    """What the runs always have before something else and the recording after it."""
    at: Mapping[str, int] = {name: index for index, name in enumerate(real)}
    return [
        f"{one} before {other}"
        for one, other in sorted(_always_before(runs))
        if one in at and other in at and at[one] > at[other]
    ]


def missing(real: Order, runs: Sequence[Order]) -> list[str]:
    """What is in every run and not in the recording."""
    always = frozenset.intersection(*map(frozenset, runs)) if runs else frozenset()
    return sorted(always - set(real))


def _always_before(orders: Sequence[Order]) -> set[tuple[str, str]]:
    together = {(one, other) for order in orders for index, one in enumerate(order) for other in order[index + 1 :]}
    return {(one, other) for one, other in together if (other, one) not in together}
