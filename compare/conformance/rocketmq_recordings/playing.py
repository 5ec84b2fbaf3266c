"""A run of a recording's scenario in the model, and what happened in it, in the recording's time."""

from functools import partial

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_recordings.happened import (
    Change,
    Happened,
    Request,
    is_retry,
    ownership,
    queues_of,
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
    simulation.at(0.0, cluster.start)
    for event in scenario.events:
        simulation.at(event.at, partial(cluster.apply, event))
    for each in plan.producing:
        for at, rate in ((each.since, each.per_second), (each.until, 0.0)):
            simulation.at(round(shift + at), partial(cluster.produce, each.topics, rate))
    simulation.run(scenario.run.for_)
    cluster.finish()
    return heard.happened(plan, run, listen)


class _Heard(Unobserved):
    """An observer that keeps what a recording tells, too."""

    def __init__(self, plan: Plan, shift: Time) -> None:
        self._shift = shift
        self._members = {member.id for member in plan.recording.members}
        self._changes: list[Change] = []
        self._delivered: dict[Queue, list[tuple[int, int]]] = {}
        self._requests: list[Request] = []

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if type(fact) is Owns:
            owned = frozenset(queue for queue in fact.queues if not is_retry(queue))
            self._changes.append(Change(now - self._shift, fact.member, owned))
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
        seen = list(_polled(self._changes, period, run.number))
        return Happened(
            ownership(seen, queues_of(recording.topics), 0.0, recording.length_ms),
            sum(twice(spans) for queue, spans in self._delivered.items() if not is_retry(queue)),
            tuple(sorted(self._requests, key=lambda request: request.at)) if listened else None,
        )


_RECORDED = frozenset(ClientRequest.__args__) - {PullMessage, UpdateConsumerOffset}
"""Requests that recordings tell."""

RECORDED_CODES = frozenset(REQUEST_CODES[kind] for kind in (*_RECORDED, NotifyConsumerIdsChanged))
"""Their codes, and that of the brokers' notice."""


def _polled(changes: list[Change], period: int, number: int) -> list[Change]:
    """The changes as somebody sees them who looks at all members each ``period`` milliseconds."""
    phase = number_below(period, "poll", number)
    last: dict[str, frozenset[Queue]] = {}
    seen: dict[tuple[float, str], Change] = {}
    for at, member, owned in changes:
        tick = -(-(at - phase) // period) * period + phase
        seen[tick, member] = Change(tick, member, owned)
    found = []
    for change in sorted(seen.values(), key=lambda each: each.at):
        if last.get(change.member, frozenset()) != change.owned or change.member not in last:
            last[change.member] = change.owned
            found.append(change)
    return found


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
