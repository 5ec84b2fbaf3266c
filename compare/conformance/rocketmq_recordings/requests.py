"""The order of requests: which kinds of a recording's requests come in an order that can be compared, and how.

A client's threads run side by side: the one that starts it or shuts it down, the one with the periodic tasks, the one
that rebalances; brokers' notices come in between. Which thread is a millisecond earlier is chance, and how periodic
requests interleave depends on phases. What is no chance:

* which kinds of requests a member sends or is sent at all, and which of them comes first, second, ... in its life;
* what comes before what within a phase of the script wherever the runs agree on it;
* how heartbeats go round the brokers, and how a member takes leave of them: within one kind the brokers' order;
* what follows what within a rebalance: members are asked for, then locks, then offsets.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from compare.conformance.rocketmq_recordings.happened import Request
from rocketmq_selfbalance.messages import (
    REQUEST_CODES,
    GetConsumerListByGroup,
    HeartBeat,
    LockBatchMq,
    QueryConsumerOffset,
    UnlockBatchMq,
    UnregisterClient,
)

Order: TypeAlias = tuple[int, ...]
"""Codes in the order of their first occurrence."""

Phases: TypeAlias = Sequence[float]
"""When each phase of the script begins."""

_HEARTBEAT, _LEAVE = REQUEST_CODES[HeartBeat], REQUEST_CODES[UnregisterClient]

_REBALANCE = tuple(
    REQUEST_CODES[kind] for kind in (GetConsumerListByGroup, LockBatchMq, UnlockBatchMq, QueryConsumerOffset)
)


class Follows(NamedTuple):
    """Among the requests of one sort, this one came right after that one. A name with the broker: ``34 broker-a``."""

    sort: str
    before: str
    after: str


def lives(requests: Iterable[Request]) -> dict[str, Order]:
    """Member to the order in which the kinds of its requests first occur in its life."""
    found: dict[str, dict[int, None]] = {}
    for each in requests:
        found.setdefault(each.member, {})[each.code] = None
    return {member: tuple(codes) for member, codes in found.items()}


def by_phase(requests: Iterable[Request], phases: Phases) -> dict[tuple[int, str], Order]:
    """(Phase, member) to the order in which the kinds of its requests first occur in that phase."""
    found: dict[tuple[int, str], dict[int, None]] = {}
    for each in requests:
        number = max(index for index, at in enumerate(phases) if at <= each.at or index == 0)
        found.setdefault((number, each.member), {})[each.code] = None
    return {key: tuple(codes) for key, codes in found.items()}


def always_before(orders: Sequence[Order]) -> set[tuple[int, int]]:
    """Pairs of codes of which the first comes before the second in all of these orders that have both; there are
    some."""
    together = {(one, other) for order in orders for index, one in enumerate(order) for other in order[index + 1 :]}
    return {(one, other) for one, other in together if (other, one) not in together}


def follows(requests: Iterable[Request]) -> dict[Follows, None]:
    """What follows what among a member's heartbeats, its leave-takings, its requests for a rebalance."""
    of: dict[tuple[str, str], list[str]] = {}
    for each in requests:
        if each.code in (_HEARTBEAT, _LEAVE):
            of.setdefault((each.member, str(each.code)), []).append(f"{each.code} {each.peer}")
        elif each.code in _REBALANCE:
            of.setdefault((each.member, "rebalance"), []).append(str(each.code))
    return dict.fromkeys(
        Follows(sort, *pair) for (_, sort), names in of.items() for pair in pairwise(["first", *names])
    )


def out_of_order(real: Order, runs: Sequence[Order]) -> list[tuple[int, int]]:
    """Pairs of codes that the runs always have in this order and the recording in the other."""
    at: Mapping[int, int] = {code: index for index, code in enumerate(real)}
    return sorted(
        (one, other) for one, other in always_before(runs) if one in at and other in at and at[one] > at[other]
    )
