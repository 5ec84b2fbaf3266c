"""Recordings of RocketMQ clusters in which a broker is killed, stopped or frozen, played through the model.

A recording says how the cluster was set up, what befell which server when, and what clients then saw. The model lives
through the same once for the producer without a selector (concurrent listeners), once for the one with a selector
(orderly listeners), each with many seeds. Every stage and every figure must lie within the range of the runs, widened
by `NOISE_MS` and `NOISE_SHARE`. Of a recording on a machine so busy that half of all records took more than a second
before anything happened, only the order of the stages is compared.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import Field, ValidationError

from compare.conformance.cases import Difference, Line, MalformedCase, Measure
from compare.conformance.recordings import Part, System, outside, ownership
from compare.conformance.recordings import changed as changes_of
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.facts import Delivered, Owns, Stage, Writes
from protocols.java import Queue
from protocols.scenario.events import BrokerEvent, Event
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.jitter import Beginning
from protocols.scenario.model import LoadPart, RunPart, Scenario, SystemPart
from protocols.scenario.running import Run
from protocols.timeline.deliveries import Delivery, handled_more_than_once
from rocketmq_selfbalance.cluster import PRODUCER_SETTINGS, RocketMQCluster, member_settings

NOISE_MS: Final = 1_500.0
NOISE_SHARE: Final = 0.25
"""A recorded figure may lie outside of the runs' range by so much time and by such a share."""

WARM_UP_S: Final = 65.0
"""The cluster runs before the recording begins: members join, and all have heard of each other."""

LATENCIES: Final = (0.2, 2.0), (1.0, 10.0), (5.0, 50.0)
"""Milliseconds, least and most, of the runs in turn: a quiet machine, a busy one, an overloaded one."""

LONGEST_PERIOD_MS: Final = 30_000
"""Of a client's clocks: route polls and heartbeats."""

TOPIC: Final = "T"

KINDS: Final = ("plain", "concurrent"), ("ordered", "orderly")
"""What a producer sends, and the listeners that handle it."""


class Happened(Part):
    """What befell whom, or what somebody knew from then on. Times are seconds since the producers' start."""

    t: float
    what: str


class Topology(Part):
    what: str
    queues: str
    node: str = Field(alias="node_of_the_event")
    ports: dict[str, int]


class Percentiles(Part):
    n: int = 0
    p50_s: float | None = None


class Totals(Part):
    """``refusals``: by their words."""

    refusals: dict[str, Percentiles]
    retries: Percentiles = Field(alias="sends_with_a_retry")
    attempts: dict[str, Percentiles]
    before: Percentiles = Field(alias="send_s_before")
    handled_twice: int = Field(alias="handled_twice_same_place")
    stored_twice: int = 0
    late: int = Field(0, alias="handled_though_refused")


class OfQueue(Part):
    its: bool = Field(alias="on_the_broker")
    unsent_s: float | None = Field(None, alias="longest_without_send_s")
    unsent_from: float | None = Field(None, alias="longest_without_send_from")
    unread_s: float | None = Field(None, alias="longest_without_read_s")
    unread_from: float | None = Field(None, alias="longest_without_read_from")


class Held(Part):
    t: float
    member: str
    owns: tuple[str, ...]


class OfGroup(Part):
    listener: str
    strategy: str
    ownership: tuple[Held, ...]


class Recording(Part):
    """One recorded outage."""

    name: str
    topology: Topology
    settings: dict[str, dict[str, object]]
    event_at: float
    ends: float = Field(alias="producer_ends_at")
    events: tuple[Happened, ...]
    totals: dict[str, Totals]
    per_queue: dict[str, dict[str, OfQueue]]
    groups: tuple[OfGroup, ...] = Field(alias="group")


@dataclass(slots=True)
class Outage:
    """What came of one kind of records in a recording or in a run. Times are seconds after the event.

    ``stages``: name to when it was reached; one that never was is left out. ``lasted``: durations; ``counts``: records.
    """

    stages: dict[str, float] = field(default_factory=dict)
    lasted: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """``scenarios``: per kind of records. Times of `Recording`, later by `WARM_UP_S`."""

    recording: Recording
    scenarios: Mapping[str, Scenario]
    system: Mapping[str, SystemPart]


Kinds = Mapping[str, Outage]
"""Kind of records to what came of them."""


def recognises(line: Line) -> bool:
    return line.get("system") == "rocketmq" and "event_at" in line


def read(line: Line) -> Recording:
    try:
        return Recording.model_validate(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise MalformedCase(".".join(map(str, first["loc"])), first["msg"], first.get("input")) from None


# What the script did.

_STRUCK: Final = re.compile(r"(kill -9|SIGTERM|SIGSTOP) (\S+)")
_BACK: Final = re.compile(r"(?:SIGCONT (\S+)|port of (\S+) open)")
_MASTERS: Final = re.compile(r"([\w.-]+)=\{0=(\d+)")
_DOES: Final = {"kill -9": "kill", "SIGTERM": "stop", "SIGSTOP": "freeze"}


def _events(recording: Recording) -> list[Event]:
    found: list[Event] = []
    for number, each in enumerate(recording.events):
        struck = _STRUCK.match(each.what)
        if struck is None:
            continue
        does, node = _DOES[struck[1]], struck[2]
        at, back = each.t, _back(recording, recording.events[number + 1 :], node)
        milliseconds = float(round((at + WARM_UP_S) * 1000))
        if does == "freeze":
            lasts = (back if back is not None else recording.ends) - at
            found.append(
                BrokerEvent.model_validate({"at": milliseconds, "broker": node, "does": does, "for": lasts * 1000})
            )
        else:
            found.append(BrokerEvent.model_validate({"at": milliseconds, "broker": node, "does": does}))
            if back is not None:
                again = float(round((back + WARM_UP_S) * 1000))
                found.append(BrokerEvent.model_validate({"at": again, "broker": node, "does": "return"}))
    return sorted(found, key=lambda event: event.at)


REGISTERS_S: Final = 3.0
"""Where a recording does not say when a broker that starts opens its port, it is so long before its registration."""


def _back(recording: Recording, later: Sequence[Happened], node: str) -> float | None:
    """When the server was there again; None where it was not."""
    started = None
    for each in later:
        back = _BACK.match(each.what)
        if back is not None and node in back.groups():
            return each.t
        if each.what == f"start {node}":
            started = each.t
        port = f"={recording.topology.ports.get(node)}"
        if started is not None and each.what.startswith("name server's route") and port in each.what:
            return max(started, each.t - REGISTERS_S)
    return None


def plan(recording: Recording) -> Plan:
    topology, settings = recording.topology, recording.settings
    counts = [int(each) for each in topology.queues.split("+")]
    brokers = tuple(sorted(name for name in topology.ports if not name.endswith(".s")))
    queues = dict(zip(brokers, counts, strict=False))
    replicated = any(name.endswith(".s") for name in topology.ports)
    producer = settings.get("producer", {})
    given = {**_mapping(producer.get("default")), **settings.get("changed_in_this_run", {})}
    sender = {name: value for name, value in given.items() if name in PRODUCER_SETTINGS}
    threads = producer.get("threads")
    rate = producer.get("rate_per_s")
    if not isinstance(rate, int | float) or not isinstance(threads, int):
        raise MalformedCase("settings.producer", "rate_per_s and threads", producer)
    of_members = {
        name: value
        for name, value in settings.get("changed_in_this_run", {}).items()
        if name in member_settings() and name not in PRODUCER_SETTINGS
    }
    scenarios, systems = {}, {}
    for kind, listener in KINDS:
        group = next((each for each in recording.groups if each.listener == listener), None)
        if group is None or kind not in recording.totals:
            continue
        members = dict.fromkeys(sorted({held.member for held in group.ownership}))
        scenarios[kind] = Scenario(
            name=recording.name,
            brokers=brokers,
            topics={TOPIC: TopicPart(queues=queues)},
            groups={"g": GroupPart(members={member: MemberPart(subscribe=(TOPIC,)) for member in members})},
            replication={"rocketmq": 2, "rocketmq_controller": "controller" in topology.what} if replicated else {},
            load=LoadPart.model_validate(
                {
                    "produce": rate / sum(counts),
                    "producer": {**sender, "sendThreads": threads},
                    "selector": "key" if kind == "ordered" else None,
                }
            ),
            run=RunPart.model_validate({"for": (recording.ends + WARM_UP_S) * 1000, "seed": 0}),
            events=tuple(_events(recording)),
        )
        systems[kind] = SystemPart(
            system=f"rocketmq:{group.strategy}",
            settings={**of_members, **({"orderly": True} if kind == "ordered" else {})},
        )
    return Plan(recording, scenarios, systems)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


# What came of it.

GONE, BACK = "the name server drops the master", "the name server has a master again"
LEARNT, LEARNT_BACK = "the producer knows that it is gone", "the producer knows that it is back"
DROPPED, TAKEN = "the first consumer drops its queues", "the first consumer takes its queues again"
UNSENT, UNREAD = "its queues without a send", "its queues without a handled record"
OTHERS_UNSENT, OTHERS_UNREAD = "other queues without a send", "other queues without a handled record"
TWO_OWNERS = "queues with two owners, together"
REFUSED, RETRIED, TWICE = "refused", "tried again on another broker", "handled twice"
LATE, STORED_TWICE = "stored although refused", "stored twice"


def happened(recording: Recording) -> Kinds:
    """What the recording says."""
    found = {}
    for kind, listener in KINDS:
        group = next((each for each in recording.groups if each.listener == listener), None)
        if group is not None and kind in recording.totals:
            found[kind] = _recorded(recording, kind, group)
    return found


def _recorded(recording: Recording, kind: str, group: OfGroup) -> Outage:
    broker, at = _broker(recording.topology.node), recording.event_at
    port = str(recording.topology.ports.get(broker))
    routes = [(each.t - at, dict(_MASTERS.findall(each.what))) for each in recording.events if "route" in each.what]
    knows = [(each.t - at, f"{broker}=" in each.what) for each in recording.events if f"'{kind}' knows" in each.what]
    made = Outage()
    _stages(
        made,
        [(t, masters.get(broker) == port, broker in masters) for t, masters in routes],
        [(t, known) for t, known in knows if t > 0],
    )
    held = [(each.t - at, each.member, frozenset(map(_queue, each.owns))) for each in group.ownership]
    _owned(made, held, broker, recording.ends - at)
    totals = recording.totals[kind]
    made.counts[REFUSED] = sum(each.n for words, each in totals.refusals.items() if "MQBrokerException" not in words)
    busy = sum(each.n for words, each in totals.attempts.items() if "MQBrokerException" in words)
    made.counts[RETRIED] = max(0, totals.retries.n - busy)
    made.counts[TWICE] = totals.handled_twice
    made.counts[LATE] = totals.late
    made.counts[STORED_TWICE] = totals.stored_twice
    frozen = any(each.what.startswith("SIGSTOP") for each in recording.events)
    started = min((each.t for each in recording.events if each.what.startswith("start ")), default=None)
    for its, unsent, unread in ((True, UNSENT, UNREAD), (False, OTHERS_UNSENT, OTHERS_UNREAD)):
        of = [each for each in recording.per_queue[kind].values() if each.its is its]
        hurt = its and broker == recording.topology.node
        gaps = {
            unsent: [(each.unsent_s, each.unsent_from) for each in of],
            unread: [(each.unread_s, each.unread_from) for each in of],
        }
        for name, listed in gaps.items():
            # What living queues suffer while a process is started is the machine's.
            counted = [
                s
                for s, since in listed
                if s is not None and since is not None and (hurt or started is None or since < started)
            ]
            # Living brokers answer at once, unless threads wait for a frozen one: how soon is the machine's.
            if (
                counted
                and (hurt or len(counted) == len(listed))
                and (hurt or frozen or name not in (UNSENT, OTHERS_UNSENT))
            ):
                made.lasted[name] = max(counted)
    return made


def _broker(node: str) -> str:
    return node.partition(".s")[0]


def _queue(name: str) -> Queue:
    broker, _, number = name.rpartition("-")
    return Queue(TOPIC, broker, int(number))


def _stages(made: Outage, routes: Iterable[tuple[float, bool, bool]], knows: Iterable[tuple[float, bool]]) -> None:
    """``routes``: whether the broker's master is the one it was, and whether it has one; ``knows``: whether the
    producer knows one."""
    for t, same, there in routes:
        if t >= 0 and not same:
            made.stages.setdefault(GONE, t)
        if t >= 0 and GONE in made.stages and there:
            made.stages.setdefault(BACK, t)
    for t, known in knows:
        if t >= 0 and not known:
            made.stages.setdefault(LEARNT, t)
        if LEARNT in made.stages and known:
            made.stages.setdefault(LEARNT_BACK, t)


def _owned(made: Outage, held: Sequence[tuple[float, str, frozenset[Queue]]], broker: str, end: float) -> None:
    changes = changes_of(held)
    for change in changes:
        if change.at > 0 and any(queue.broker == broker for queue in change.lost):
            made.stages.setdefault(DROPPED, change.at)
        if DROPPED in made.stages and any(queue.broker == broker for queue in change.gained):
            made.stages.setdefault(TAKEN, change.at)
    double = ownership(changes, end).double
    made.lasted[TWO_OWNERS] = sum(max(0.0, each.until - max(each.since, 0.0)) for each in double)


@dataclass(slots=True)
class _Observer:
    facts: list[tuple[Time, object]] = field(default_factory=list)

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self.facts.append((now, fact))

    def __getattr__(self, name: str) -> object:
        return lambda *given: None


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
    broker, at = _broker(plan.recording.topology.node), plan.recording.event_at + WARM_UP_S + later / 1000
    made = Outage()
    told = [(now / 1000 - at, fact) for now, fact in observer.facts]
    stages = [(t, fact) for t, fact in told if isinstance(fact, Stage) and fact.server == broker]
    _stages(
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
    _owned(made, own, broker, end)
    account = lived.cluster.servers.producers.account(TOPIC)
    made.counts = {
        REFUSED: account.refused,
        RETRIED: account.retried,
        LATE: account.late - account.twice,
        STORED_TWICE: account.twice,
    }
    _gaps(made, told, scenario, broker, end, account.silent_ms / 1000)
    deliveries = [
        Delivery(fact.group, fact.member, fact.queue, fact.first, fact.end, fact.since / 1000 - at, t)
        for t, fact in told
        if isinstance(fact, Delivered) and fact.queue.topic == TOPIC
    ]
    made.counts[TWICE] = _twice(deliveries) - _twice(each for each in deliveries if each.until < 0)
    for its, name in ((True, UNREAD), (False, OTHERS_UNREAD)):
        made.lasted[name] = max(_unread(deliveries, scenario, broker, end, its=its), default=0.0)
    return made


def _twice(deliveries: Iterable[Delivery]) -> int:
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
    deliveries: Sequence[Delivery], scenario: Scenario, broker: str, end: float, *, its: bool
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
        records = rate / max(1, len(real)) * NOISE_MS / 1000
        measures += [
            _within(kind, name, value, [each.counts[name] for each in told], records)
            for name, value in outage.counts.items()
        ]
    return outside(measures), measures


def _order(kind: str, real: Outage, runs: Sequence[Outage]) -> Measure:
    found = sorted(real.stages, key=lambda name: real.stages[name])
    orders = [sorted(each.stages, key=lambda name: each.stages[name]) for each in runs]
    return Measure(kind, "order of the stages", found, orders[0], orders[0], found in orders)


def _within(
    kind: str, name: str, real: float | None, found: Sequence[float | None], noise: float = NOISE_MS / 1000
) -> Measure:
    """``noise`` in the figure's unit. What never happened in a recording may have happened in no run, or in some."""
    values = [value for value in found if value is not None]
    model = [round(min(values), 3), round(max(values), 3)] if values else None
    if real is None:
        return Measure(kind, name, None, model, "never in some run", len(values) < len(found))
    if not values:
        return Measure(kind, name, real, None, None, False)
    low = max(0.0, min(values) - noise - NOISE_SHARE * min(values))
    high = max(values) + noise + NOISE_SHARE * max(values)
    return Measure(kind, name, real, model, [round(low, 3), round(high, 3)], low <= real <= high)


OUTAGES: Final = System(
    name="RocketMQ",
    recognises=recognises,
    read=read,
    why_not_played=lambda recording: None,
    happened=happened,
    plan=plan,
    run=run,
    compared=compared,
    inconsistent=lambda recording, real: [],
    takes="settings and events",
)
