"""Before a comparison begins: a refusal of what needs more memory than there is, or has more events than can end.

Both are counted from the sizes of the scenarios alone. How long runs take shows with the first finished one.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from compare.running.runs import Plan
from protocols.errors import UserError
from protocols.scenario.events import MemberChange, Produce
from protocols.scenario.fields import duration_text
from protocols.scenario.model import Scenario, split_system
from protocols.scenario.rates import Rates
from protocols.scenario.topology import listed_members

HOUR = 3_600_000.0
"""Milliseconds."""

MOST_EVENTS = 50_000_000
"""Events of all runs: some hundred thousand of them take a minute of one processor."""

RUN_BYTES, MEMBER_EVENT_BYTES, QUEUE_EVENT_BYTES = 50e6, 3_000.0, 700.0
"""What a run takes, and what each member and queue adds at each written event; roughly, and for the system that takes
most."""

QUEUE_BYTES: Mapping[str, float] = {"kafka": 3_000.0, "kafka-zookeeper": 12_000.0, "rocketmq": 8_000.0}
"""System to what each queue adds; that of ZooKeeper's way is an upper bound."""

LOADED_BYTES: Mapping[str, float] = {"kafka": 400_000.0, "kafka-zookeeper": 25_000.0, "rocketmq": 0.0}
"""System to what an hour of a queue with records adds."""

PULL_BYTES, PULLED_S = 480.0, 2.0
"""RocketMQ: memory for each record that is pulled by a message of its own, and for how many seconds after each written
event all records are. Between these times a run passes over its readers, except with ``--full``."""

ONE_BY_ONE: Final = "rocketmq:POP"
"""Its clients acknowledge each record with a message of its own."""

MOST_ONE_BY_ONE: Final = 250_000
"""Records of a run that are acknowledged so."""

RECORD_S, RECORD_BYTES = 200e-6, 1_700.0
"""CPU seconds and memory for each of them, on a busy machine: 0.2 ms at 10 and 200 records per second and queue, 0.1 at
1,000; 1.4 to 1.9 kB, 0.8 at 1,000."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to work with. ``memory`` in bytes."""

    processors: int
    memory: float

    @classmethod
    def this(cls) -> "Machine":
        """This machine, as far as this process may use it; without a limit of memory where the system tells none."""
        try:
            import resource
        except ImportError:
            return cls(os.cpu_count() or 1, inf)
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return cls(os.cpu_count() or 1, memory if limit == resource.RLIM_INFINITY else min(memory, float(limit)))


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a run's events and memory depend on. ``hours`` of virtual time; ``per_second``: records that all queues of
    the beginning get; ``at_once``: records of bursts."""

    members: int
    queues: int
    written: int
    hours: float
    per_second: float
    at_once: int

    @classmethod
    def of(cls, scenario: Scenario) -> "Sizes":
        """Takes no longer than to go through the scenario's members, topics and events once."""
        members = {tuple(key) for key in listed_members(scenario)}
        queues = {topic: sum(part.queues.values()) for topic, part in scenario.topics.items()}
        most = sum(queues.values())
        for event in scenario.events:
            if event.member_change is MemberChange.JOINS:
                members.update((event.group or "", name) for name in event.members())
            for topic, per_broker in event.queue_changes().items():
                now = sum((per_broker or {}).values())
                most += max(0, now - queues.get(topic, 0))
                queues[topic] = now
        rates = Rates(scenario)
        per_second = sum(sum(rates.of(topic)) for topic in scenario.topics)
        at_once = sum(sum(event.produce.values()) for event in scenario.events if isinstance(event, Produce))
        hours = scenario.run.for_ / HOUR
        return cls(len(members), most, len(scenario.events), hours, per_second, at_once)

    @property
    def events(self) -> float:
        """Something happens to every member and queue in every hour, and at every event that is written."""
        return (self.hours + self.written) * (self.members + self.queues)

    @property
    def records(self) -> float:
        """Records that are written in a run."""
        return self.per_second * self.seconds + self.at_once

    @property
    def seconds(self) -> float:
        """Virtual time of a run."""
        return self.hours * 3_600

    def bytes(self, system: str, full: bool = False) -> float:
        """Memory of a run of this system, named with its strategy. ``full``: no quiet time is passed over."""
        name, _ = split_system(system)
        at_event = self.members * MEMBER_EVENT_BYTES + self.queues * QUEUE_EVENT_BYTES
        held = self.hours * self.queues * LOADED_BYTES[name] if self.per_second else 0.0
        if system == ONE_BY_ONE:
            held += self.records * RECORD_BYTES
        elif name == "rocketmq":
            pulled_s = self.seconds if full else min(self.seconds, self.written * PULLED_S)
            held += self.per_second * pulled_s * PULL_BYTES
        return RUN_BYTES + self.queues * QUEUE_BYTES[name] + self.written * at_event + held

    def __str__(self) -> str:
        length = duration_text(self.hours * HOUR)
        return f"{length} with {self.written:,} events, {self.members:,} members, {self.queues:,} queues"


def check_work(plans: Sequence[Plan], machine: Machine) -> None:
    """Raises `UserError` for more than `MOST_EVENTS` or `MOST_ONE_BY_ONE`, or more memory than there is."""
    sizes = [Sizes.of(plan.scenario) for plan in plans]
    workers = max(1, min(machine.processors, sum(plan.runs for plan in plans)))
    for plan, size in zip(plans, sizes, strict=True):
        systems = {variant.part.system for variant in plan.variants}
        if ONE_BY_ONE in systems and size.records > MOST_ONE_BY_ONE:
            _refuse_one_by_one(plan, size.records)
        memory = workers * max((size.bytes(system, plan.full) for system in systems), default=0.0)
        if memory > machine.memory:
            most = f"{machine.memory / 1e9:.0f} GB, which this machine has"
            _refuse(plan, size, f"about {memory / 1e9:,.0f} GB of memory", most)
    events = [plan.runs * size.events for plan, size in zip(plans, sizes, strict=True)]
    longest = max(range(len(plans)), key=events.__getitem__)
    if sum(events) > MOST_EVENTS:
        _refuse(plans[longest], sizes[longest], f"about {sum(events):,.0f} events", f"{MOST_EVENTS:,}")


def _refuse_one_by_one(plan: Plan, records: float) -> None:
    raise UserError(
        f"{plan.path}: about {records:,.0f} records of a run, each of which {ONE_BY_ONE} acknowledges by a message"
        f" (about {records * RECORD_S:,.0f} s and {records * RECORD_BYTES / 1e9:,.1f} GB a run), expected at most"
        f" {MOST_ONE_BY_ONE:,}, or --no-limit to run it all the same"
    )


def _refuse(plan: Plan, size: Sizes, much: str, most: str) -> None:
    runs = f"{plan.runs:,} runs of " if plan.runs > 1 else ""
    raise UserError(
        f"{plan.path}: {much} ({runs}{size}), expected at most {most}, or --no-limit to run it all the same"
    )
