"""Recordings of RocketMQ clusters in which a broker is killed, stopped or frozen: how the cluster was set up, what
befell which server when, and what clients then saw. The first gives a scenario for each kind of records, the last is
what `rocketmq` compares."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import Field

from compare.conformance.cases import Line, MalformedCase, rocketmq_version
from compare.conformance.recordings import Part, ownership
from compare.conformance.recordings import changed as changes_of
from protocols.java import Queue
from protocols.scenario.events import BrokerEvent, Event
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import LoadPart, RunPart, Scenario, SystemPart
from rocketmq_selfbalance.cluster import PRODUCER_SETTINGS, member_settings

WARM_UP_S: Final = 65.0
"""The cluster runs before the recording begins: members join, and all have heard of each other."""

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
    versions: dict[str, str] = Field(default_factory=dict)
    topology: Topology
    settings: dict[str, dict[str, object]]
    event_at: float
    ends: float = Field(alias="producer_ends_at")
    events: tuple[Happened, ...]
    totals: dict[str, Totals]
    per_queue: dict[str, dict[str, OfQueue]]
    groups: tuple[OfGroup, ...] = Field(alias="group")

    @property
    def broker(self) -> str:
        """Of which a process is struck."""
        return self.topology.node.partition(".s")[0]


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
            versions={"rocketmq": rocketmq_version(recording.versions.get("broker"), "versions.broker").name},
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
    broker, at = recording.broker, recording.event_at
    port = str(recording.topology.ports.get(broker))
    routes = [(each.t - at, dict(_MASTERS.findall(each.what))) for each in recording.events if "route" in each.what]
    knows = [(each.t - at, f"{broker}=" in each.what) for each in recording.events if f"'{kind}' knows" in each.what]
    made = Outage()
    stages_of(
        made,
        [(t, masters.get(broker) == port, broker in masters) for t, masters in routes],
        [(t, known) for t, known in knows if t > 0],
    )
    held = [(each.t - at, each.member, frozenset(map(_queue, each.owns))) for each in group.ownership]
    owned(made, held, broker, recording.ends - at)
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


def _queue(name: str) -> Queue:
    broker, _, number = name.rpartition("-")
    return Queue(TOPIC, broker, int(number))


def stages_of(made: Outage, routes: Iterable[tuple[float, bool, bool]], knows: Iterable[tuple[float, bool]]) -> None:
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


def owned(made: Outage, held: Sequence[tuple[float, str, frozenset[Queue]]], broker: str, end: float) -> None:
    changes = changes_of(held)
    for change in changes:
        if change.at > 0 and any(queue.broker == broker for queue in change.lost):
            made.stages.setdefault(DROPPED, change.at)
        if DROPPED in made.stages and any(queue.broker == broker for queue in change.gained):
            made.stages.setdefault(TAKEN, change.at)
    double = ownership(changes, end).double
    made.lasted[TWO_OWNERS] = sum(max(0.0, each.until - max(each.since, 0.0)) for each in double)
