"""Runs of RocketMQ clusters in which a server fails, beside recordings of such (`rocketmq_recorded`).

The model lives through the same once for the producer without a selector (concurrent listeners), once for the one with
a selector (orderly listeners). Every stage and every figure must lie within the range of the runs, widened as in
`comparing`. Of a recording on a machine so busy that half of all records took more than a second before anything
happened, only the order of the stages is compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from compare.conformance.broker_failures.comparing import NOISE_S, SHARE
from compare.conformance.broker_failures.rocketmq_recorded import (
    LATE,
    OTHERS_UNREAD,
    OTHERS_UNSENT,
    REFUSED,
    RETRIED,
    STORED_TWICE,
    TOPIC,
    TWICE,
    UNREAD,
    UNSENT,
    WARM_UP_S,
    Kinds,
    Outage,
    Plan,
    Recording,
    happened,
    owned,
    plan,
    recognises,
    stages_of,
)
from compare.conformance.cases import Difference, Measure, validated
from compare.conformance.recordings import System, outside, widened
from protocols.engine.nodes import Time, Unobserved
from protocols.engine.randomness import number_below
from protocols.facts import Delivered, Owns, Stage, Writes
from protocols.java import Queue
from protocols.scenario.jitter import Beginning
from protocols.scenario.model import Scenario
from protocols.scenario.running import Run
from protocols.timeline.deliveries import handled_more_than_once
from rocketmq_selfbalance.cluster import RocketMQCluster

LATENCIES: Final = (0.2, 2.0), (1.0, 10.0), (5.0, 50.0)
"""Milliseconds, least and most, of the runs in turn: a quiet machine, a busy one, an overloaded one."""

LONGEST_PERIOD_MS: Final = 30_000
"""Of a client's clocks: route polls and heartbeats."""


@dataclass(slots=True)
class _Observer(Unobserved):
    facts: list[tuple[Time, object]] = field(default_factory=list)

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self.facts.append((now, fact))


def run(plan: Plan, number: int) -> Kinds:
    """What happens in run ``number``, which is also its seed."""
    return {kind: _lived(plan, kind, number) for kind in plan.scenarios}


def _lived(plan: Plan, kind: str, number: int) -> Outage:
    scenario = plan.scenarios[kind]
    latency = LATENCIES[number % len(LATENCIES)]
    # In which phase of the clients' clocks it happens is left open: it may be any.
    later = float(number_below(LONGEST_PERIOD_MS, number, "phase"))
    length = scenario.run.for_ + later
    scenario = scenario.model_copy(
        update={
            "run": scenario.run.model_copy(update={"latency": latency, "for_": length}),
            "events": tuple(each.model_copy(update={"at": each.at + later}) for each in scenario.events),
        }
    )
    observer = _Observer()
    beginning = Beginning.of(scenario, number)
    lived = Run.of(scenario, plan.system[kind], RocketMQCluster, observer=observer, seed=number, beginning=beginning)
    lived.run()
    assert isinstance(lived.cluster, RocketMQCluster)
    broker, at = plan.recording.broker, plan.recording.event_at + WARM_UP_S + later / 1000
    made = Outage()
    told = [(now / 1000 - at, fact) for now, fact in observer.facts]
    stages = [(t, fact) for t, fact in told if isinstance(fact, Stage) and fact.server == broker]
    stages_of(
        made,
        [
            (t, " drops " not in fact.what and f"has {broker} as" in fact.what, " drops " not in fact.what)
            for t, fact in stages
            if fact.what.startswith("the name server")
        ],
        [(t, "is gone" not in fact.what) for t, fact in stages if fact.what.startswith("the producers")],
    )
    end = scenario.run.for_ / 1000 - at
    own = [
        (t, fact.member, frozenset(queue for queue in fact.queues if queue.topic == TOPIC))
        for t, fact in told
        if isinstance(fact, Owns)
    ]
    owned(made, own, broker, end)
    account = lived.cluster.servers.producers.account(TOPIC)
    made.counts = {
        REFUSED: account.refused,
        RETRIED: account.retried,
        LATE: account.late,
        STORED_TWICE: account.twice,
    }
    _gaps(made, told, scenario, broker, end, account.silent_ms / 1000)
    deliveries = [
        Delivered(fact.group, fact.member, fact.queue, fact.first, fact.end, fact.since / 1000 - at, t)
        for t, fact in told
        if isinstance(fact, Delivered) and fact.queue.topic == TOPIC
    ]
    made.counts[TWICE] = _twice(deliveries) - _twice(each for each in deliveries if each.until < 0)
    for its, name in ((True, UNREAD), (False, OTHERS_UNREAD)):
        made.lasted[name] = max(_unread(deliveries, scenario, broker, end, its=its), default=0.0)
    return made


def _twice(deliveries: Iterable[Delivered]) -> int:
    return sum(end - first for ranges in handled_more_than_once(deliveries).values() for first, end in ranges)


def _all_queues(scenario: Scenario) -> Iterator[Queue]:
    for broker, count in scenario.topics[TOPIC].queues.items():
        yield from (Queue(TOPIC, broker, number) for number in range(count))


def _gaps(
    made: Outage, told: Sequence[tuple[float, object]], scenario: Scenario, broker: str, end: float, silent: float
) -> None:
    """The longest times in which nothing was acknowledged."""
    usual = 1 / scenario.load.produce
    longest: dict[bool, float] = {True: usual, False: max(usual, silent)}
    since: dict[Queue, float] = {}
    for t, fact in told:
        if isinstance(fact, Writes):
            writes = fact.per_second > 0 and not fact.waits
            if not writes:
                since.setdefault(fact.queue, t)
            elif fact.queue in since:
                its = fact.queue.broker == broker
                longest[its] = max(longest[its], t - since.pop(fact.queue))
    for queue, t in since.items():
        longest[queue.broker == broker] = max(longest[queue.broker == broker], end - t)
    made.lasted[UNSENT], made.lasted[OTHERS_UNSENT] = longest[True], longest[False]


def _unread(
    deliveries: Sequence[Delivered], scenario: Scenario, broker: str, end: float, *, its: bool
) -> Iterator[float]:
    """Of each queue the longest time between two records, from the event on."""
    for queue in _all_queues(scenario):
        if (queue.broker == broker) is not its:
            continue
        last = 0.0
        for each in sorted((each for each in deliveries if each.queue == queue), key=lambda each: each.until):
            if each.until > 0:
                yield each.since - last
                last = max(last, each.until)
        yield end - last


# Beside each other.


def compared(plan: Plan, real: Kinds, runs: Sequence[Kinds]) -> tuple[list[Difference], list[Measure]]:
    measures: list[Measure] = []
    rate = sum(
        plan.scenarios[kind].load.produce * len(list(_all_queues(plan.scenarios[kind]))) for kind in plan.scenarios
    )
    for kind, outage in real.items():
        told = [each[kind] for each in runs]
        before = plan.recording.totals[kind].before.p50_s
        if before is not None and before > 1:
            measures.append(_order(kind, outage, told))
            continue
        names = dict.fromkeys(name for each in (outage, *told) for name in each.stages)
        measures += [
            _within(kind, name, outage.stages.get(name), [each.stages.get(name) for each in told]) for name in names
        ]
        measures += [
            _within(kind, name, value, [each.lasted[name] for each in told]) for name, value in outage.lasted.items()
        ]
        records = rate / max(1, len(real)) * NOISE_S
        measures += [
            _within(kind, name, value, [each.counts[name] for each in told], records)
            for name, value in outage.counts.items()
        ]
    return outside(measures), measures


def _order(kind: str, real: Outage, runs: Sequence[Outage]) -> Measure:
    found = sorted(real.stages, key=lambda name: real.stages[name])
    orders = [sorted(each.stages, key=lambda name: each.stages[name]) for each in runs]
    return Measure(kind, "order of the stages", found, orders[0], orders[0], found in orders)


def _within(kind: str, name: str, real: float | None, found: Sequence[float | None], noise: float = NOISE_S) -> Measure:
    """``noise`` in the figure's unit. What never happened in a recording may have happened in no run, or in some."""
    values = [value for value in found if value is not None]
    model = [round(min(values), 3), round(max(values), 3)] if values else None
    if real is None:
        return Measure(kind, name, None, model, "never in some run", len(values) < len(found))
    if not values:
        return Measure(kind, name, real, None, None, False)
    low, high = widened(values, noise, SHARE)
    return Measure(kind, name, real, model, [round(low, 3), round(high, 3)], low <= real <= high)


ROCKETMQ_BROKERS: Final = System(
    name="RocketMQ",
    recognises=recognises,
    read=partial(validated, Recording),
    happened=happened,
    plan=plan,
    run=run,
    compared=compared,
    takes="settings and events",
)
