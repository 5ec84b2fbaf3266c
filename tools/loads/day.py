"""A group lives through a load: second by second, as a fluid, and nothing of a protocol but what a move costs.

Every `ASK_S` seconds, and when a member joins, a contender is asked who gets what, and sees what a controller could
have measured: the rates of the last `PAST_S` seconds (and of each of them), what waits, and what each member could
handle in that time. One who is ``alert`` is asked at once, too, when more waits at a member than it handles in
`ALERT_S`, and the more the longer; not again before its moves are made. A queue that moves is read by nobody for
`MOVE_S`. A member shares its time among its queues as the model of `protocols.load` does: each as much as the others,
but none more than it has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from tools.loads.families import Load

Floats = NDArray[np.float64]

ASK_S, PAST_S = 15, 30
ALERT_S = 0.5
MOVE_S = 3
"""How long nobody reads a queue that moves: a heartbeat interval of Kafka's cooperative protocol."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a contender is told. ``parts``: the rates of each of the last seconds, the oldest first, and ``rate`` their
    mean; ``capacity``: of the members that are there; ``owner``: of each queue, -1 for nobody."""

    second: int
    rate: tuple[float, ...]
    parts: tuple[tuple[float, ...], ...]
    lag: tuple[float, ...]
    capacity: dict[int, float]
    owner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """``ask``: from what is seen to the member of each queue. ``move_s``: how long nobody reads a queue that moves."""

    ask: Callable[[Seen], Sequence[int]]
    alert: bool = False
    move_s: int = MOVE_S


@dataclass(frozen=True, slots=True)
class Outcome:
    """``p99_age_s``: of records, from produced to handled (to the end, where not handled). ``drain_s``: seconds in
    which more than two seconds' records wait in all. ``unowned_queue_s``: queue-seconds without a reader because of
    moves. ``lag``: what waits in all, second by second."""

    p99_age_s: float
    drain_s: int
    moves: int
    unowned_queue_s: int
    lag: tuple[float, ...]


def live(load: Load, contender: Contender) -> Outcome:
    """The load from its first second to its last."""
    rates, seconds = load.rates, len(load.rates)
    queues = len(rates[0])
    owner, until = [-1] * queues, [0] * queues
    waiting = [0.0] * queues
    handled = np.zeros((seconds + 1, queues))
    moves = unowned = drain = 0
    lags = []
    asked, before = 0, dict.fromkeys(range(len(load.capacity[0])), 0.0)
    for second in range(seconds):
        there = {member: each for member, each in enumerate(load.capacity[second]) if each}
        joined = second > 0 and sum(map(bool, load.capacity[second - 1])) != len(there)
        at_members = {member: sum(compress(waiting, [each == member for each in owner])) for member in there}
        grows = [member for member, each in at_members.items() if each > max(ALERT_S * there[member], before[member])]
        before |= at_members
        if second % ASK_S == 0 or joined or (contender.alert and grows and second - asked >= MOVE_S):
            asked = second
            chosen = contender.ask(_seen(load, second, waiting, there, owner))
            for queue, member in enumerate(chosen):
                if owner[queue] not in (-1, member):
                    moves += 1
                    until[queue] = second + contender.move_s
                owner[queue] = member
        for queue, rate in enumerate(rates[second]):
            waiting[queue] += rate
        for member, capacity in there.items():
            own = [queue for queue in range(queues) if owner[queue] == member and until[queue] <= second]
            for queue, amount in shared(capacity, own, waiting):
                waiting[queue] -= amount
                handled[second + 1, queue] = amount
        unowned += sum(second < each for each in until)
        lags.append(sum(waiting))
        drain += lags[-1] > 2 * sum(rates[second])
    return Outcome(_p99(np.asarray(rates), handled), drain, moves, unowned, tuple(lags))


def _seen(load: Load, second: int, waiting: Sequence[float], there: dict[int, float], owner: Sequence[int]) -> Seen:
    since = max(0, second - PAST_S)
    past = load.rates[since:second] or load.rates[:1]
    could = {
        member: [each[member] for each in load.capacity[since:second] if each[member]] or [now]
        for member, now in there.items()
    }
    return Seen(
        second,
        tuple(fmean(each) for each in zip(*past, strict=True)),
        past,
        tuple(waiting),
        {member: sum(each) / len(each) for member, each in could.items()},
        tuple(member if member in there else -1 for member in owner),
    )


def shared(capacity: float, queues: Sequence[int], waiting: Sequence[float]) -> list[tuple[int, float]]:
    """What a member handles of each queue in a second: equal parts, but none more than waits."""
    found = []
    left = capacity
    order = sorted(queues, key=waiting.__getitem__)
    for place, queue in enumerate(order):
        amount = min(waiting[queue], left / (len(order) - place))
        left -= amount
        found.append((queue, amount))
    return found


def ages_of(rates: Floats, handled: Floats) -> tuple[Floats, Floats]:
    """Ages and numbers of records that were handled together, queue by queue; what was not is as old as the end.
    ``rates[t, q]``: what comes in second t; ``handled[t, q]``: what was handled until t since the second before."""
    ages, weights = [], []
    seconds = len(rates)
    times = np.arange(seconds + 1, dtype=float)
    for queue in range(rates.shape[1]):
        written = np.concatenate([[0.0], np.cumsum(rates[:, queue])])
        done = np.cumsum(handled[:, queue])
        middle = (done[1:] + done[:-1]) / 2
        ages.append(times[1:] - np.interp(middle, written, times))
        weights.append(handled[1:, queue])
        rest = written[-1] - done[-1]
        ages.append(np.array([seconds - float(np.interp(done[-1] + rest / 2, written, times))]))
        weights.append(np.array([rest]))
    return np.concatenate(ages), np.concatenate(weights)


def _p99(rates: Floats, handled: Floats) -> float:
    age, weight = ages_of(rates, handled)
    order = np.argsort(age, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return float(age[order][np.searchsorted(share, 0.99)])
