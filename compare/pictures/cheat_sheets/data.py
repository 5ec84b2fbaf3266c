"""What the cheat sheets tell, from the engine itself: runs of one small scenario, default settings, strategies."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from compare.documents.comparison import After
from compare.measure.runs.record import run_record
from compare.scenarios.run_variant import RunResult, run_variant
from compare.scenarios.variants import variants_of
from kafka_coordinator import assign
from kafka_coordinator.consumer.settings import ConsumerSettings
from kafka_coordinator.coordinator.settings import BrokerSettings as KafkaBrokerSettings
from protocols import Allocation, Group
from protocols.scenario.reading import read_text
from protocols.timeline.sequence import Arrow, Note, SequenceDiagram, sequence_diagram
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.broker.settings import REAL_NAMES as BROKER_NAMES
from rocketmq_selfbalance.broker.settings import BrokerSettings as RocketMQBrokerSettings
from rocketmq_selfbalance.client.settings import REAL_NAMES as CLIENT_NAMES
from rocketmq_selfbalance.client.settings import ClientSettings, field_of

JOIN, HANG, CRASH, LEAVE = 31_000.0, 61_000.0, 301_000.0, 421_000.0
"""When the scenario's events happen, in milliseconds; not on the grid of any heartbeat."""

SCENARIO = """
name: join, hang, crash, leave
brokers: [broker]
topics: {orders: {queues: 6}}
group:
  name: billing
  members:
    c1: {subscribe: [orders]}
    c2: {subscribe: [orders]}
load: {produce: 10/s}
run: {for: 8min, seed: 1}
events:
  - {at: 31s, join: c3, subscribe: [orders]}
  - {at: 61s, hang: c3, for: 180s}
  - {at: 301s, crash: c2}
  - {at: 421s, leave: c3}
"""
"""The small scenario that all sheets are about."""

KAFKA = ("kafka:range", "kafka:cooperative-sticky", "kafka:uniform")
ROCKETMQ = "rocketmq:AVG"

MEMBERS = 3
TOPICS: Mapping[str, int] = {"A": 10, "B": 4}
"""The group whose shares the strategies' table tells."""


@cache
def run(label: str, tracing: bool = False) -> RunResult:
    """The scenario on one system; ``tracing`` keeps the messages."""
    (variant,) = variants_of(read_text(SCENARIO), [label])
    return run_variant(variant, tracing=tracing)


@cache
def outcomes(label: str) -> Mapping[float, After]:
    """Time of an event (milliseconds) to what it led to."""
    return {after["at_s"] * 1000: after for after in run_record(run(label))["after"]}


def join_messages(label: str, until: float, left_out: Sequence[str]) -> SequenceDiagram:
    """What was sent from the join on until ``until`` milliseconds later, without times and messages whose names are
    ``left_out``; brokers stand in the middle."""
    found = sequence_diagram(run(label, tracing=True).timeline, JOIN, JOIN + until)
    steps: list[Arrow | Note] = []
    for step in found.steps:
        if isinstance(step, Arrow):
            name = step.text.partition(" (")[0]
            if name not in left_out:
                steps.append(step._replace(text=name))
    members = sorted(name for name in found.participants if name.startswith("c"))
    others = [name for name in found.participants if name not in members]
    middle = len(members) // 2
    return SequenceDiagram((*members[:middle], *others, *members[middle:]), tuple(steps))


class Share(NamedTuple):
    """What a strategy makes of the group: queues of each member, and how many get another owner when the last member
    leaves, besides its own."""

    strategy: str
    loads: tuple[int, ...]
    moves: int


_Sharing = Callable[[Group, Allocation | None], Allocation]
"""From a group, and what its members owned before, to what they own."""


def kafka_shares(names: Sequence[str]) -> list[Share]:
    """Of Kafka's strategies."""
    return [_share(name, partial(assign, name)) for name in names]


def rocketmq_shares(names: Sequence[str]) -> list[Share]:
    """Of RocketMQ's strategies."""
    return [_share(name, partial(_allocated, name)) for name in names]


def _allocated(name: str, group: Group, before: Allocation | None) -> Allocation:
    return allocate(name, group, previous=before)


def _share(name: str, sharing: _Sharing) -> Share:
    members = [f"c{number}" for number in range(1, MEMBERS + 1)]
    group = Group.of(topics=dict(TOPICS), members={member: list(TOPICS) for member in members})
    first = sharing(group, None)
    second = sharing(group.without(members[-1]), first)
    owner = {queue: member for member in members for queue in first[member]}
    moved = sum(owner.get(queue) not in (member, members[-1]) for member in members[:-1] for queue in second[member])
    return Share(name, tuple(len(first[member]) for member in members), moved)


def kafka_settings(names: Sequence[str]) -> list[tuple[str, object]]:
    """Kafka's names of settings with the defaults of consumer or broker; times in milliseconds."""
    consumer, broker = ConsumerSettings(), KafkaBrokerSettings()
    found: list[tuple[str, object]] = []
    for name in names:
        field = name.replace(".", "_")
        found.append((name, getattr(consumer if hasattr(consumer, field) else broker, field)))
    return found


def rocketmq_settings(names: Sequence[str]) -> list[tuple[str, object]]:
    """RocketMQ's names of settings with the defaults of client or broker; times in milliseconds."""
    client, broker = ClientSettings(), RocketMQBrokerSettings()
    return [
        (name, field_of(client, CLIENT_NAMES[name]) if name in CLIENT_NAMES else getattr(broker, BROKER_NAMES[name]))
        for name in names
    ]
