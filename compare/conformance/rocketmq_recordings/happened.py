"""What happened in a recording, and what happens in a run of it in the model, in the same words. Times are the
recording's; retry queues are left out.

`inconsistent` tells whether a recording's summary says what its own events say: a figure that was changed is then told
apart from one that the model does not reach.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from compare.conformance.cases import Difference, MalformedCase
from compare.conformance.recordings import Interval, Ownership, changed, ownership, simulate
from compare.conformance.rocketmq_recordings.reading import (
    DoubleOwned,
    Recording,
    Unowned,
    is_retry,
    queue_name,
    queue_names,
)
from compare.conformance.rocketmq_recordings.scenario import Plan, Run
from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Time, Unobserved
from protocols.engine.randomness import number_below
from protocols.engine.simulation import Simulation
from protocols.facts import Delivered, Owns
from protocols.java import Queue
from rocketmq_selfbalance.cluster import (
    REQUEST_CODES,
    ClientRequest,
    NotifyConsumerIdsChanged,
    PullMessage,
    RocketMQCluster,
    UpdateConsumerOffset,
)


class Request(NamedTuple):
    """A request of a member, or a broker's notice to it: its code, and the broker (or ``namesrv``)."""

    at: float
    member: str
    code: int
    peer: str


@dataclass(frozen=True, slots=True)
class Happened:
    """Times are milliseconds in the time of the recording, or of the run."""

    ownership: Ownership
    again: int
    """Records that were delivered more than once."""
    requests: tuple[Request, ...] | None
    """By time; None where nobody listened."""


def queues_of(topics: Mapping[str, Mapping[str, int]]) -> list[Queue]:
    """The queues of topics with so many per broker."""
    return [
        Queue(topic, broker, number)
        for topic, counts in topics.items()
        for broker, count in counts.items()
        for number in range(count)
    ]


def happened(recording: Recording) -> Happened:
    """The whole recording."""
    return Happened(
        recorded_ownership(recording, with_retry=False),
        recording.messages.consumed_more_than_once,
        tuple(sorted((Request(*row) for row in recording.rpc), key=lambda each: each.at)) or None,
    )


def recorded_ownership(recording: Recording, *, with_retry: bool) -> Ownership:
    """What the ownership of the recording means."""
    held = [
        (each.t_ms, each.member, frozenset(queue for queue in each.owned if with_retry or not is_retry(queue)))
        for each in recording.ownership
    ]
    return ownership(changed(held), recording.length_ms, queues_of(recording.topics), recording.began)


Pair: TypeAlias = tuple[str, object, object]
"""A field, what the summary says, and what the events say."""

SummaryRow: TypeAlias = list[str | float]

MOST_LISTED = 300
"""The list of records that were consumed more than once is cut here."""


def inconsistent(recording: Recording, real: Happened) -> list[Difference]:
    """What the summary says that the events contradict; ``got`` is what the events say."""
    told = recorded_ownership(recording, with_retry=True)
    unowned = [each for each in (*told.waiting, *told.unowned) if not is_retry(each.queue)]
    pairs: list[Pair] = [
        ("doubleOwnership", *_both(_told(recording.double_ownership), _named(told.double))),
        ("unowned", *_both(_told(recording.unowned), _named(unowned))),
        (
            "moves",
            *_both(
                [[move.t_ms, queue_name(move.queue), move.frm, move.to] for move in recording.moves],
                [[at, queue_name(queue), before, after] for at, queue, before, after in told.moves],
            ),
        ),
    ]
    for member in recording.members:
        owned = told.final.get(member.id, frozenset())
        pairs.append((f"final.{member.id}", queue_names(recording.final.get(member.id, ())), queue_names(owned)))
    pairs += _durations(recording)
    pairs += _records(recording)
    times = [at for at, *_ in recording.rpc]
    pairs.append(("rpc", "times that rise", "times that rise" if _rise(times) else "one that is earlier than the last"))
    times = [each.t_ms for each in recording.ownership]
    pairs.append(("ownership", "times that rise", "times that rise" if _rise(times) else "one that is earlier"))
    for number, (at, sender, code, _) in enumerate(recording.rpc):
        if recording.rpc_codes and str(code) not in recording.rpc_codes:
            pairs.append((f"rpc.{number}", f"one of the codes {', '.join(recording.rpc_codes)}", [at, sender, code]))
    return [Difference(recording.scenario, field, said, got) for field, said, got in pairs if said != got]


def _durations(recording: Recording) -> list[Pair]:
    named: tuple[tuple[str, tuple[Unowned, ...]], ...] = (
        ("doubleOwnership", recording.double_ownership),
        ("unowned", recording.unowned),
    )
    return [
        (f"{where}.{number}.ms", interval.ms, interval.to_ms - interval.from_ms)
        for where, intervals in named
        for number, interval in enumerate(intervals)
    ]


def _records(recording: Recording) -> list[Pair]:
    messages = recording.messages
    more = messages.deliveries - messages.distinct_consumed
    pairs: list[Pair] = []
    if messages.consumed_more_than_once <= MOST_LISTED:
        listed = len(messages.duplicates)
        again = sum(len(duplicate.seen) - 1 for duplicate in messages.duplicates)
        pairs.append(("messages.consumedMoreThanOnce", messages.consumed_more_than_once, listed))
        pairs.append(("messages.deliveries", messages.deliveries, messages.distinct_consumed + again))
    elif more < messages.consumed_more_than_once:
        pairs.append(("messages.consumedMoreThanOnce", messages.consumed_more_than_once, more))
    return pairs


def _both(said: list[SummaryRow], counted: list[SummaryRow]) -> tuple[list[SummaryRow], list[SummaryRow]]:
    """What is only in the one list, and what is only in the other."""
    return sorted(row for row in said if row not in counted), sorted(row for row in counted if row not in said)


def _told(intervals: Iterable[Unowned]) -> list[SummaryRow]:
    return [
        [
            queue_name(interval.queue),
            interval.from_ms,
            interval.to_ms,
            *(sorted(interval.owners) if isinstance(interval, DoubleOwned) else ()),
        ]
        for interval in intervals
    ]


def _named(intervals: Iterable[Interval]) -> list[SummaryRow]:
    return [[queue_name(queue), since, until, *owners] for queue, since, until, owners in intervals]


def _rise(times: list[float]) -> bool:
    return all(one <= other for one, other in pairwise(times))


POLL_MS = 50
"""How often a recording looks at what members own, unless it tells."""


def play(plan: Plan, run: Run, *, listen: bool) -> Happened:
    """Let the run happen. ``listen``: to the requests as well, which takes longer."""
    scenario, shift = run.scenario, run.shift
    heard = _Heard(plan, shift)
    least, most = scenario.run.latency
    simulation = Simulation(seed=scenario.run.seed, latency=Latency(least, most), observer=heard, tracing=listen)
    cluster = RocketMQCluster(scenario, plan.system, simulation)
    if not listen:
        cluster.fast_forward()
    producing = [
        (round(shift + at), partial(cluster.produce, each.topics, rate))
        for each in plan.producing
        for at, rate in ((each.since, each.per_second), (each.until, 0.0))
    ]
    simulate(cluster, simulation, scenario, producing)
    return heard.happened(plan, run, listen)


Held: TypeAlias = tuple[float, str, frozenset[Queue]]
"""From when on which member holds exactly which queues."""


class _Heard(Unobserved):
    """An observer that keeps what a recording tells, too."""

    def __init__(self, plan: Plan, shift: Time) -> None:
        self._shift = shift
        self._members = {member.id for member in plan.recording.members}
        self._held: list[Held] = []
        self._delivered: dict[Queue, list[tuple[int, int]]] = {}
        self._requests: list[Request] = []

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if type(fact) is Owns:
            owned = frozenset(queue for queue in fact.queues if not is_retry(queue))
            self._held.append((now - self._shift, fact.member, owned))
        elif type(fact) is Delivered:
            self._delivered.setdefault(fact.queue, []).append((fact.first, fact.end))

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        """Requests count when they are sent, notices when they arrive; what nobody was there to take does not."""
        kind = type(message)
        if arrives is None:
            return
        if kind is NotifyConsumerIdsChanged:
            self._requests.append(Request(arrives - self._shift, to, REQUEST_CODES[kind], sender))
        elif kind in _RECORDED and sender in self._members:
            self._requests.append(Request(now - self._shift, sender, REQUEST_CODES[kind], to))

    def happened(self, plan: Plan, run: Run, listened: bool) -> Happened:
        """All that was heard."""
        recording = plan.recording
        period = recording.settings.get("pollOwnershipMs", POLL_MS)
        if not isinstance(period, int):
            raise MalformedCase("settings.pollOwnershipMs", "a whole number of milliseconds", period)
        seen = changed(_polled(self._held, period, run.number))
        return Happened(
            ownership(seen, recording.length_ms, queues_of(recording.topics)),
            sum(twice(spans) for queue, spans in self._delivered.items() if not is_retry(queue)),
            tuple(sorted(self._requests, key=lambda request: request.at)) if listened else None,
        )


_RECORDED = frozenset(ClientRequest.__args__) - {PullMessage, UpdateConsumerOffset}
"""Requests that recordings tell."""

RECORDED_CODES = frozenset(REQUEST_CODES[kind] for kind in (*_RECORDED, NotifyConsumerIdsChanged))
"""Their codes, and that of the brokers' notice."""


def _polled(held: Iterable[Held], period: int, number: int) -> list[Held]:
    """What members hold as somebody sees it who looks at all of them each ``period`` milliseconds."""
    phase = number_below(period, "poll", number)
    seen: dict[tuple[float, str], Held] = {}
    for at, member, owned in held:
        tick = -(-(at - phase) // period) * period + phase
        seen[tick, member] = tick, member, owned
    return sorted(seen.values(), key=lambda each: each[0])


def twice(spans: list[tuple[int, int]]) -> int:
    """How many offsets lie in more than one of these intervals."""
    count, once, again = 0, 0, 0
    for first, end in sorted(spans):
        # Up to ``once`` everything was there before, up to ``again`` more than once.
        overlap = min(once, end)
        count += max(0, overlap - max(first, again))
        again = max(again, overlap)
        once = max(once, end)
    return count
