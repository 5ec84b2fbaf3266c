"""The blocks of docs/lessons-kafka.md."""

from collections.abc import Callable, Mapping

from compare.running.systems import cluster_of
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.coordinator.log import (
    CommittedOffset,
    GroupKey,
    GroupValue,
    OffsetKey,
    Record,
    offsets_partition,
)
from kafka_coordinator.zookeeper.connection import SERVER
from kafka_coordinator.zookeeper.server import ZooKeeper
from protocols.java import string_hash
from protocols.scenario.model import SystemPart
from protocols.scenario.reading import read_text
from protocols.scenario.running import Run
from tools.lessons.shown import messages, story, table

BROKERS = ("broker-0", "broker-1", "broker-2")
GROUPS = ("billing", "shipping", "seed", "polygenelubricants")
"""The last one's hash is the smallest integer, of which Java's `abs` is negative."""

SMALL = """
name: join, crash, leave, commit
brokers: [broker-0]
topics: {orders: {queues: 4}}
group:
  name: billing
  members:
    c1: {subscribe: [orders]}
load: {produce: 1/s}
run: {for: 2min, seed: 1}
systems: [{system: kafka:range, settings: {session.timeout.ms: 6000}}]
events:
  - {at: 20s, join: c2, subscribe: [orders]}
  - {at: 40s, commit: c1}
  - {at: 60s, crash: c2}
  - {at: 75s, join: c3, subscribe: [orders]}
  - {at: 90s, leave: c3}
"""


def _signed(group: str) -> int:
    code = string_hash(group)
    return code - (1 << 32) if code >= 1 << 31 else code


def _coordinator() -> str:
    rows = [
        (group, _signed(group), partition := offsets_partition(group, 50), BROKERS[partition % len(BROKERS)])
        for group in GROUPS
    ]
    return table(("group", "hash", "partition of 50", "coordinator of 3 brokers"), rows)


def _records() -> list[Record]:
    """The log of the group's partition of ``__consumer_offsets`` at 50 s."""
    scenario = read_text(SMALL)
    run = Run.of(scenario, SystemPart(system="kafka:range"), cluster_of("kafka:range"), full=True)
    run.simulation.run(50_000)
    broker = run.simulation.processes["broker-0"].node
    assert isinstance(broker, Broker)
    return list(broker.coordinator.core.storage.partitions[offsets_partition("billing", 50)].records)


def _compaction() -> str:
    records = _records()
    newest = {record.key: record.position for record in records}
    rows = [
        (record.position, _key(record), _value(record), "kept" if newest[record.key] == record.position else "goes")
        for record in records[:6] + records[-5:]
    ]
    rows.insert(6, ("...", "", "", ""))
    return table(("position", "key", "value", "compaction"), rows)


def _key(record: Record) -> str:
    key = record.key
    if isinstance(key, OffsetKey):
        return f"offset of {key.group}, {key.topic}-{key.number}"
    assert isinstance(key, GroupKey)
    return f"group {key.group}"


def _value(record: Record) -> str:
    value = record.value
    if isinstance(value, CommittedOffset):
        return f"{value.offset}"
    if isinstance(value, GroupValue):
        return f"generation {value.generation}, {len(value.members)} member{'' if len(value.members) == 1 else 's'}"
    return "none: a tombstone"


def _zookeeper() -> str:
    scenario = read_text(SMALL.replace("systems: [{system: kafka:range, settings: {session.timeout.ms: 6000}}]\n", ""))
    system = "kafka-zookeeper:range"
    run = Run.of(scenario, SystemPart(system=system), cluster_of(system), full=True)
    run.simulation.run(50_000)
    node = run.simulation.processes[SERVER].node
    assert isinstance(node, ZooKeeper)
    rows = [
        (path, data, "goes with the session" if session else "stays")
        for path, (data, session) in sorted(node.nodes.items())
        if path.startswith("/consumers")
    ]
    return table(("path", "data", ""), rows)


MADE: Mapping[str, Callable[[], str]] = {
    "coordinator": _coordinator,
    "join": messages(SMALL, "kafka:range", 20, 24),
    "commit": messages(SMALL, "kafka:range", 40, 40.05),
    "crash": messages(SMALL, "kafka:range", 60, 72),
    "leave": messages(SMALL, "kafka:range", 90, 94),
    "purgatory": story("two-owners-at-a-join", "kafka:range"),
    "compaction": _compaction,
    "zookeeper": _zookeeper,
}
