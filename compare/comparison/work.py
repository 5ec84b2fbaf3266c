"""How much work a comparison is, estimated before it begins: from the sizes of its scenarios alone.

The estimate is a sum of terms, each with its reason, so that the largest one says what is too large. The constants of
`COSTS` are seconds of one processor and were measured with ``python -m benchmarks.estimate`` (`benchmarks/README.md`);
wanted is a factor of 4 at most between estimate and run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compare.scenarios.variants import Variant
from protocols.scenario.events import MemberChange
from protocols.scenario.model import LoadPart, Scenario
from protocols.scenario.systems import split_system
from protocols.scenario.topology import listed_members
from protocols.scenario.units import duration_text

HOUR = 3_600_000.0
"""Milliseconds."""

THREADS = 20
"""Records that a RocketMQ client handles at the same time."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a system's runs cost, in seconds of one processor and in bytes. ``pair``: of members with members, of queues
    with queues (what everybody has to do with everybody), squares of their numbers."""

    member: float
    member_pair: float
    queue: float
    queue_pair: float
    """To start with so many, a few quiet minutes included."""
    hour: float
    hour_member: float
    hour_member_pair: float
    hour_queue: float
    """Virtual hours in which nothing happens."""
    full_hour_member: float
    """The same message by message (`--full`)."""
    load_hour_member: float
    load_hour_queue: float
    """Virtual hours with records that are handled as they come."""
    record: float
    """A record that is read by itself: of RocketMQ those around an event, with `--full`, or where members do not keep
    up; of Kafka none."""
    event: float
    event_member: float
    event_member_pair: float
    event_queue: float
    """An event after which the group rebalances, and what is measured of it."""
    bytes_queue: float
    bytes_event_member: float
    bytes_event_queue: float
    bytes_hour_member: float
    bytes_load_hour_queue: float


COSTS: Mapping[str, Costs] = {
    "kafka": Costs(
        member=6e-4,
        member_pair=3e-7,
        queue=1.5e-4,
        queue_pair=5e-8,
        hour=0.05,
        hour_member=1e-3,
        hour_member_pair=0.0,
        hour_queue=5e-4,
        full_hour_member=0.03,
        load_hour_member=0.04,
        load_hour_queue=0.026,
        record=0.0,
        event=2e-3,
        event_member=1.2e-4,
        event_member_pair=0.0,
        event_queue=2.5e-5,
        bytes_queue=4_000,
        bytes_event_member=3_000,
        bytes_event_queue=700,
        bytes_hour_member=0,
        bytes_load_hour_queue=330_000,
    ),
    "kafka-zookeeper": Costs(
        member=1e-3,
        member_pair=4.5e-5,
        queue=2e-4,
        queue_pair=0.0,
        hour=0.0,
        hour_member=0.017,
        hour_member_pair=0.0,
        hour_queue=1e-3,
        full_hour_member=0.017,
        load_hour_member=0.018,
        load_hour_queue=2.7e-3,
        record=0.0,
        event=4e-3,
        event_member=0.0,
        event_member_pair=2e-5,
        event_queue=1e-4,
        bytes_queue=5_000,
        bytes_event_member=3_000,
        bytes_event_queue=700,
        bytes_hour_member=20_000,
        bytes_load_hour_queue=25_000,
    ),
    "rocketmq": Costs(
        member=1e-3,
        member_pair=1e-5,
        queue=7e-4,
        queue_pair=4e-7,
        hour=0.02,
        hour_member=6e-3,
        hour_member_pair=2e-5,
        hour_queue=2.4e-3,
        full_hour_member=0.06,
        load_hour_member=2e-3,
        load_hour_queue=3e-3,
        record=7e-5,
        event=4e-3,
        event_member=4e-4,
        event_member_pair=0.0,
        event_queue=1.4e-4,
        bytes_queue=12_000,
        bytes_event_member=3_000,
        bytes_event_queue=700,
        bytes_hour_member=0,
        bytes_load_hour_queue=0,
    ),
}
"""System to what its runs cost."""

EVENT_PAIR = 4e-6
"""Seconds: to find the cause of what follows an event, all earlier ones are looked at."""

RUN, RUN_BYTES = 0.02, 60e6
"""Seconds and bytes of the smallest run."""

READ_SINGLY_S = 20.0, 2.0
"""Seconds of load that are read record by record after the beginning, and after every event."""


class Term(NamedTuple):
    """A part of an estimate: its seconds of one processor, its bytes, and why."""

    seconds: float
    bytes: float
    why: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a scenario's work depends on. ``hours`` of virtual time; ``rate``: records per second and queue, the mean;
    ``handle``: the longest time that a member takes for a record, in seconds."""

    members: int
    queues: int
    events: int
    hours: float
    rate: float
    handle: float

    @classmethod
    def of(cls, scenario: Scenario) -> "Sizes":
        """Takes no longer than to go through the scenario's members, topics and events once."""
        parts = listed_members(scenario)
        members = {tuple(key) for key in parts}
        queues = {topic: sum(part.queues.values()) for topic, part in scenario.topics.items()}
        most = sum(queues.values())
        for event in scenario.events:
            if event.member_change is MemberChange.JOINS:
                members.update((event.group or "", name) for name in event.members())
            for topic, per_broker in event.queue_changes().items():
                now = sum((per_broker or {}).values())
                most += max(0, now - queues.get(topic, 0))
                queues[topic] = now
        return cls(
            members=len(members),
            queues=most,
            events=len(scenario.events),
            hours=scenario.run.for_ / HOUR,
            rate=_mean_rate(scenario.load, queues),
            handle=max((part.handle for part in parts.values()), default=0.0) / 1000,
        )

    def terms(self, costs: Costs, full: bool) -> Iterator[Term]:
        """What one run costs."""
        members, queues, events = self.members, self.queues, self.events
        who = f"{members:,} members" if members != 1 else "1 member"
        start = members * costs.member + members**2 * costs.member_pair
        start += queues * costs.queue + queues**2 * costs.queue_pair
        yield Term(RUN + start, RUN_BYTES + queues * costs.bytes_queue, f"{queues:,} queues x {who}")
        length = duration_text(self.hours * HOUR)
        quiet = costs.hour + members * costs.hour_member + members**2 * costs.hour_member_pair
        quiet += queues * costs.hour_queue
        if full:
            quiet = max(quiet, members * costs.full_hour_member)
        yield Term(self.hours * quiet, self.hours * members * costs.bytes_hour_member, f"{length} x {who}")
        happening = costs.event + members * costs.event_member + members**2 * costs.event_member_pair
        happening += queues * costs.event_queue
        yield Term(
            events * happening + events**2 * EVENT_PAIR,
            events * (members * costs.bytes_event_member + queues * costs.bytes_event_queue),
            f"{events:,} events x {max(members, queues):,} {'members' if members >= queues else 'queues'}",
        )
        if self.rate:
            handled = self.hours * (members * costs.load_hour_member + queues * costs.load_hour_queue)
            singly = self.rate * queues * self._read_singly(full) * costs.record
            held = self.hours * queues * costs.bytes_load_hour_queue
            yield Term(handled + singly, held, f"{length} x {queues:,} queues with {self.rate:g} records per second")

    def _read_singly(self, full: bool) -> float:
        """Seconds of load that are read record by record."""
        every = self.hours * HOUR / 1000
        keeps_up = self.rate * self.queues * self.handle < self.members * THREADS
        first, after_event = READ_SINGLY_S
        return every if full or not keeps_up else min(every, first + after_event * self.events)


def _mean_rate(load: LoadPart, queues: Mapping[str, int]) -> float:
    """Records per second of a queue, over all of these topics with their numbers of queues."""
    total = sum(count * load.rates.get(topic, load.produce) for topic, count in queues.items())
    total += sum(rate for name, rate in load.rates.items() if name not in queues)
    return total / max(1, sum(queues.values()))


class Reason(NamedTuple):
    """The largest part of an estimate: of which scenario, how much, and why."""

    scenario: int
    much: float
    why: str


class Work(NamedTuple):
    """The estimate of a whole comparison: seconds on this machine, bytes at the same time, what most of each is for."""

    seconds: float
    bytes: float
    longest: Reason
    largest: Reason


def work_of(runs: Sequence[tuple[Scenario, Sequence[Variant], bool]], processors: int) -> Work:
    """The estimate of these runs on so many processors. Each scenario comes with its variants (once per seed), and
    whether no quiet time is skipped."""
    seconds = slowest = most_bytes = 0.0
    longest, largest = Reason(0, 0.0, ""), Reason(0, 0.0, "")
    for number, (scenario, variants, full) in enumerate(runs):
        sizes = Sizes.of(scenario)
        for system, count in Counter(split_system(each.part.system)[0] for each in variants).items():
            terms = list(sizes.terms(COSTS[system], full))
            of_run = sum(term.seconds for term in terms)
            seconds, slowest = seconds + count * of_run, max(slowest, of_run)
            most_bytes = max(most_bytes, sum(term.bytes for term in terms))
            several = f"{count:,} runs of " if count > 1 else ""
            longest = max(
                longest, *(Reason(number, each.seconds * count, several + each.why) for each in terms), key=_much
            )
            largest = max(largest, *(Reason(number, each.bytes, each.why) for each in terms), key=_much)
    workers = max(1, min(processors, sum(len(variants) for _, variants, _ in runs)))
    return Work(max(seconds / workers, slowest), most_bytes * workers, longest, largest)


def _much(reason: Reason) -> float:
    return reason.much
