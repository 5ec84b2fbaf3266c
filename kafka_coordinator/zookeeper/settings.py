"""Settings of a 0.8 consumer with the defaults of 0.8.2.2 (spec 7.3), under their own names in `NAMES`; its strategies:
how it computes its own share from what it has read (spec 7.3 step 5).

A consumer has one thread (stream) or more per topic; partitions are dealt to threads. Nothing here knows what others
compute: two consumers that have read different things compute shares that overlap or leave gaps. To add a strategy: a
function here, and a record in the catalogue below.

In Kafka 0.8 `ConsumerConfig`, and `PartitionAssignor` with `RangeAssignor` and `RoundRobinAssignor`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NoReturn, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from protocols.errors import UserError
from protocols.java import sorted_as_java, string_hash
from protocols.load import changed
from protocols.strategies import Registry, StrategyRecord, never

Threads: TypeAlias = Mapping[str, Sequence[str]]
"""Topic to the thread ids of all its subscribers."""

AssignFunction: TypeAlias = Callable[[Sequence[str], Threads, Mapping[str, int]], dict[Partition, str]]
"""The consumer's own thread ids, all threads, partitions per topic to the partitions of its own threads."""

_SIGN = 1 << 31


class CannotAssign(Exception):  # noqa: N818 - the try has failed, the program has not
    """What was read allows no assignment; the try has failed."""


def range_(mine: Sequence[str], threads: Threads, partitions: Mapping[str, int]) -> dict[Partition, str]:
    """Each topic in ranges to its sorted threads. ``mine``: my thread ids. Raises `CannotAssign`."""
    share: dict[Partition, str] = {}
    for topic, count in partitions.items():
        ordered = sorted_as_java(threads.get(topic, ()))
        own = [thread for thread in ordered if thread in mine]
        if not own:
            raise CannotAssign(f"I am not registered for {topic}")
        each, extra = divmod(count, len(ordered))
        for thread in own:
            at = ordered.index(thread)
            first = each * at + min(at, extra)
            share.update({(topic, number): thread for number in range(first, first + each + (at < extra))})
    return share


def roundrobin(mine: Sequence[str], threads: Threads, partitions: Mapping[str, int]) -> dict[Partition, str]:
    """All partitions by the hash of ``[topic,partition]`` to the sorted threads in a ring. Raises `CannotAssign`
    where the members' topics or streams differ."""
    rings = [sorted_as_java(ids) for ids in threads.values()]
    if any(ring != rings[0] for ring in rings) or threads.keys() != partitions.keys():
        raise CannotAssign("roundrobin needs the same topics and as many streams for every consumer")
    if not rings or not set(mine) <= set(rings[0]):
        raise CannotAssign("I am not registered")
    # Java compares signed numbers: flipping the sign bit gives the same order of unsigned ones.
    ordered = sorted(
        ((topic, number) for topic, count in partitions.items() for number in range(count)),
        key=lambda partition: string_hash(f"[{partition[0]},{partition[1]}]") ^ _SIGN,
    )
    ring = rings[0]
    dealt = ((partition, ring[turn % len(ring)]) for turn, partition in enumerate(ordered))
    return {partition: thread for partition, thread in dealt if thread in mine}


PROTOCOL = "ZooKeeper"

CATALOGUE: tuple[StrategyRecord[AssignFunction], ...] = (
    StrategyRecord(
        "range",
        range_,
        "Assigns ranges of consecutive partitions of each topic to the sorted threads of its consumers.",
        PROTOCOL,
        java_class="RangeAssignor",
        sharing="per topic",
        by_default=never,
    ),
    StrategyRecord(
        "roundrobin",
        roundrobin,
        "Assigns all partitions, ordered by the hash of their names, to the sorted threads in turn.",
        PROTOCOL,
        java_class="RoundRobinAssignor",
        sharing="across topics",
        needs="the same topics and number of streams in every consumer",
        by_default=never,
    ),
)
"""No scenario runs them by default, because Kafka 2.0 removed the last consumer that used ZooKeeper."""

STRATEGIES: Registry[AssignFunction] = Registry("Kafka over ZooKeeper", CATALOGUE)


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """All times are milliseconds."""

    partition_assignment_strategy: str = "range"
    zookeeper_session_timeout_ms: int = 6000
    """How long ZooKeeper keeps a consumer's ephemeral nodes after it last heard from it."""
    zookeeper_connection_timeout_ms: int = 6000
    """How long the first connection may take, which is tried again within; then the consumer gives up for good."""
    zookeeper_sync_time_ms: int = 2000
    rebalance_max_retries: int = 4
    """Tries of one rebalance, the first one included."""
    rebalance_backoff_ms: int | None = None
    """Pause before the next try; None: `zookeeper_sync_time_ms`."""
    auto_commit_enable: bool = True
    auto_commit_interval_ms: int = 60_000
    auto_offset_reset: str = "smallest"
    """Where to begin without a stored offset: ``largest`` or ``smallest``. Kafka's own default is ``largest``; a
    scenario shows more where nothing that was produced is skipped."""
    reconnect_pause_ms: int = 1000
    """Pause between two attempts to reach ZooKeeper; its client has no setting for it (it takes up to this)."""

    @property
    def backoff_ms(self) -> int:
        return self.zookeeper_sync_time_ms if self.rebalance_backoff_ms is None else self.rebalance_backoff_ms


NAMES: Mapping[str, str] = {
    field.name.replace("_", "."): field.name for field in fields(ConsumerSettings) if field.name != "reconnect_pause_ms"
}
"""Kafka's name of a setting to the field."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "partition.assignment.strategy": tuple(STRATEGIES),
    "auto.offset.reset": ("largest", "smallest"),
}


def group_settings() -> frozenset[str]:
    """Names of what a group may have as settings: none is modelled."""
    return frozenset()


def member_settings() -> frozenset[str]:
    """Names of what a single member may have as settings."""
    return frozenset(NAMES)


def with_settings(base: ConsumerSettings, given: Mapping[str, object], where: str) -> ConsumerSettings:
    """The settings changed by what is given under Kafka's names; `UserError` names ``where`` for what cannot be."""
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise UserError(f"{where}: unknown setting {name!r} of kafka-zookeeper, expected one of {', '.join(NAMES)}")
        changes[NAMES[name]] = _checked(name, value, where)
    return changed(base, changes)


def _checked(name: str, value: object, where: str) -> object:
    text = str(value).strip().lower()
    if name in CHOICES:
        return text if text in CHOICES[name] else _refuse(name, value, " or ".join(CHOICES[name]), where)
    if name == "auto.commit.enable":
        return text == "true" if text in ("true", "false") else _refuse(name, value, "true or false", where)
    least = 0 if name in ("rebalance.backoff.ms", "zookeeper.sync.time.ms") else 1
    if text.isdecimal() and int(text) >= least:
        return int(text)
    return _refuse(name, value, f"a whole number, at least {least}", where)


def _refuse(name: str, value: object, expected: str, where: str) -> NoReturn:
    raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
