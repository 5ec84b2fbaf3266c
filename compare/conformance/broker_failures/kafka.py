"""Recordings of Kafka clusters in which a broker or a controller fails."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from compare.conformance.broker_failures.comparing import (
    AGE,
    ITS,
    OTHERS,
    WITHOUT_READ,
    WITHOUT_SEND,
    Happened,
    Plan,
    compared,
    happened_in,
    result_of,
)
from compare.conformance.cases import Line, kafka_version, validated
from compare.conformance.recordings import MOST_MS, Part, System
from compare.running.systems import scenario
from kafka_coordinator.cluster import FENCES, MOVES, offsets_partition
from protocols import Queue
from protocols.facts import Stage

Seconds = Annotated[float, Field(ge=0, le=MOST_MS / 1000)]


class Event(Part):
    t: float
    what: str


class PerGroup(Part):
    longest_without_read_s: float | None = None
    longest_without_read_from: float | None = None
    age_max_s: float | None = None
    members: tuple[str, ...] = ()


class PerQueue(Part):
    leader_at_start: int
    led_by_the_node: bool
    records_refused: int = 0
    longest_without_ack_s: float
    longest_without_ack_from: float
    groups: dict[str, PerGroup] = Field(default_factory=dict)


class Topology(Part):
    nodes: str
    partitions: Annotated[int, Field(ge=1, le=10_000)]
    replication_factor: Annotated[int, Field(ge=1, le=100)]
    node_of_the_event: int
    active_controller_before: int | None = None


class GroupTotals(Part):
    handled_twice: int = 0
    lost: int = 0
    callbacks_after_event: int = 0


class RecordedGroup(Part):
    group: str
    protocol: str
    coordinator_at_start: int
    totals: GroupTotals


class Machine(Part):
    disturbed: bool = False


class Recording(Part):
    name: str
    versions: dict[str, str] = Field(default_factory=dict)
    topology: Topology
    settings: dict[str, Any]
    machine: Machine = Machine()
    event_at: Seconds
    producer_ends_at: Seconds
    events: tuple[Event, ...]
    totals: dict[str, Any]
    per_queue: dict[str, PerQueue]
    group: tuple[RecordedGroup, ...]


FENCED, LEADERS = "fenced, s after the event", "new leaders, s after the event"


def recognises(line: Line) -> bool:
    return line.get("system") == "kafka" and "event_at" in line and "per_queue" in line


def happened(recording: Recording) -> Happened:
    """What the recording tells."""
    node, at = recording.topology.node_of_the_event, recording.event_at
    stages: dict[str, float] = {}
    for event in recording.events:
        if event.t >= at and event.what == f"broker {node} fenced":
            stages.setdefault(FENCED, event.t - at)
        elif event.t >= at and re.fullmatch(r"\d+ partitions of the topic get a new leader .*", event.what):
            stages.setdefault(LEADERS, event.t - at)
    longest: dict[str, float | None] = {}
    ages = [read.age_max_s for queue in recording.per_queue.values() for read in queue.groups.values()]
    for whose in (ITS, OTHERS):
        queues = [queue for queue in recording.per_queue.values() if queue.led_by_the_node == (whose == ITS)]
        sent = [(each.longest_without_ack_from, each.longest_without_ack_s) for each in queues]
        read = [
            (each.longest_without_read_from or 0.0, each.longest_without_read_s or 0.0)
            for queue in queues
            for each in queue.groups.values()
        ]
        for name, spans in ((WITHOUT_SEND, sent), (WITHOUT_READ, read)):
            longest[f"{name}: {whose}"] = max([lasted for _, lasted in spans], default=None)
            if spans:
                start, lasted = max(spans, key=lambda span: span[1])
                stages[f"end of {name}: {whose}"] = start + lasted - at
    longest[AGE] = max([age for age in ages if age is not None], default=None)
    counts = {
        "refused": sum(queue.records_refused for queue in recording.per_queue.values()),
        "handled twice": sum(group.totals.handled_twice for group in recording.group),
        "callbacks after the event": sum(group.totals.callbacks_after_event for group in recording.group),
    }
    return Happened(stages, longest, counts)


def plan(recording: Recording) -> Plan:
    """The scenario that the recording's fields describe."""
    nodes = sorted(
        {queue.leader_at_start for queue in recording.per_queue.values()} | _brokers(recording.topology.nodes)
    )
    brokers = {node: f"broker-{node}" for node in nodes}
    counts = {brokers[node]: 0 for node in nodes}
    for queue in recording.per_queue.values():
        counts[brokers[queue.leader_at_start]] += 1
    settings, end = recording.settings, recording.producer_ends_at
    consumer = settings.get("consumer", {})
    own = settings.get("topic", {}).get("min.insync.replicas")
    broker = {**settings.get("broker_default", {}), **settings.get("broker_changed", {})}
    producer = {**settings["producer"].get("default", {}), **settings["producer"]}
    given = scenario(
        name=recording.name,
        brokers=list(brokers.values()),
        controllers=_controllers(recording.topology, brokers),
        topics={TOPIC: {"queues": counts, "min_insync_replicas": own}},
        replication={"kafka": recording.topology.replication_factor},
        versions={"kafka": kafka_version(recording.versions.get("broker"), "versions.broker").name},
        groups=_groups(recording, consumer, list(brokers)),
        load={
            "produce": float(settings["producer"]["rate_per_partition_per_s"]),
            "producer": {name: producer[name] for name in PRODUCER if name in producer},
        },
        run={"for": end * 1000.0 + WARM_UP},
        systems=[
            {
                "system": "kafka:cooperative-sticky",
                "settings": {name: broker[name] for name in BROKER if name in broker},
            }
        ],
        events=list(_events(recording, brokers)),
    )
    its = brokers.get(recording.topology.node_of_the_event)
    numbered = [name for name, count in counts.items() for _ in range(count)]
    before = recording.totals.get("ack_s", {}).get("before", {}).get("max", 0.0)
    return Plan(
        recording.name,
        given,
        frozenset(Queue(TOPIC, "", number) for number, name in enumerate(numbered) if name == its),
        recording.event_at * 1000.0 + WARM_UP,
        recording.machine.disturbed,
        {AGE: before},
    )


WARM_UP = 30_000.0
"""The groups have settled when a recording begins."""
TOPIC = "topic"
PRODUCER = ("acks", "request.timeout.ms", "delivery.timeout.ms", "retries")
BROKER = (
    "broker.session.timeout.ms",
    "broker.heartbeat.interval.ms",
    "controller.quorum.fetch.timeout.ms",
    "leader.imbalance.check.interval.seconds",
    "min.insync.replicas",
    "offsets.commit.timeout.ms",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "group.consumer.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
)
CONSUMER = ("auto.commit.interval.ms", "request.timeout.ms", "metadata.max.age.ms", "auto.offset.reset")
ASSIGNORS = {
    "CooperativeStickyAssignor": "cooperative-sticky",
    "StickyAssignor": "sticky",
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
}
"""Settings that the model has, and what the recordings call assignors."""


def _brokers(nodes: str) -> set[int]:
    """The numbers of the brokers in "1 controller (node 100) + 3 brokers (1, 2, 3), separate processes"."""
    found = re.search(r"(?:brokers?|nodes) \(([\d, ]+)\)", nodes)
    return {int(each) for each in found[1].split(",")} if found else set()


def _controllers(topology: Topology, brokers: Mapping[int, str]) -> list[str]:
    """The active one first."""
    if "combined" in topology.nodes:
        numbers = list(brokers)
    else:
        found = re.search(r"controllers? \(nodes? ([\d, ]+)\)", topology.nodes)
        numbers = [int(each) for each in found[1].split(",")] if found else []
    numbers.sort(key=lambda number: number != topology.active_controller_before)
    return [brokers.get(number, f"controller-{number}") for number in numbers]


def _groups(recording: Recording, consumer: Mapping[str, Any], nodes: Sequence[int]) -> dict[str, Any]:
    common = {name: value for name, value in consumer.get("default", {}).items() if name in CONSUMER}
    common |= {name: value for name, value in consumer.items() if name in CONSUMER}
    classic = str(consumer.get("classic", ""))
    own = {name: int(value) for name, value in re.findall(r"((?:session|heartbeat)[a-z.]+\.ms) (\d+)", classic)}
    assignor = next((ours for theirs, ours in ASSIGNORS.items() if theirs in classic), "cooperative-sticky")
    groups: dict[str, Any] = {}
    for number, group in enumerate(recording.group):
        settings, strategy = (common | own, assignor) if group.protocol == "classic" else (common, "uniform")
        member = {"subscribe": [TOPIC], "strategy": strategy, "settings": settings}
        count = int(consumer.get("members_per_group", 3))
        groups[_named(group, nodes)] = {"members": {f"m{number}-{each}": member for each in range(count)}}
    return groups


def _named(group: RecordedGroup, nodes: Sequence[int]) -> str:
    """A name of which the coordinator is where the recorded group has its own."""
    if group.coordinator_at_start not in nodes:
        return group.group
    wanted = list(nodes).index(group.coordinator_at_start)
    names = (f"{group.group}-{number}" for number in range(1000))
    return next(name for name in names if offsets_partition(name, 50) % len(nodes) == wanted)


_DONE = re.compile(r"(kill -9|SIGTERM|SIGSTOP|SIGCONT|start) node (\d+)")
_DOES = {"kill -9": "kill", "SIGTERM": "stop", "SIGSTOP": "freeze"}


def _events(recording: Recording, brokers: Mapping[int, str]) -> Iterator[dict[str, object]]:
    """What the harness did; a broker that is started again returns when it registers, or opens its port."""
    end = recording.producer_ends_at
    for at, event in enumerate(recording.events):
        done = _DONE.fullmatch(event.what)
        if done is None or event.t >= end:
            continue
        what, node, now = done[1], int(done[2]), event.t * 1000.0 + WARM_UP
        name = brokers.get(node, f"controller-{node}")
        later = recording.events[at + 1 :]
        if what == "SIGSTOP":
            thaws = next((each.t for each in later if each.what == f"SIGCONT node {node}"), end)
            yield {"at": now, "broker": name, "does": "freeze", "for": (thaws - event.t) * 1000.0}
        elif what == "start":
            up = rf"broker {node} registers .*|port of node {node} open"
            back = next((each.t for each in later if re.fullmatch(up, each.what)), end)
            if back < end:
                yield {"at": back * 1000.0 + WARM_UP, "broker": name, "does": "return"}
        elif what in _DOES:
            yield {"at": now, "broker": name, "does": _DOES[what]}


def _stage(fact: Stage) -> str | None:
    if fact.what == MOVES.format(fact.server):
        return LEADERS
    return FENCED if fact.what == FENCES.format(fact.server) else None


def run(plan: Plan, number: int) -> Happened:
    found = happened_in(plan, result_of(plan, number), _stage)
    if FENCED in found.stages:
        found = found._replace(stages={LEADERS: found.stages[FENCED], **found.stages})
    return found


KAFKA_BROKERS = System(
    name="Kafka brokers that fail",
    recognises=recognises,
    read=partial(validated, Recording),
    happened=happened,
    plan=plan,
    run=run,
    compared=compared,
    takes="settings and events",
)
