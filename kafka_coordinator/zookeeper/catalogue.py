"""How a 0.8 consumer computes its own share from what it has read (spec 7.3 step 5).

A consumer has one thread (stream) or more per topic; partitions are dealt to threads. Nothing here knows what others
compute: two consumers that have read different things compute shares that overlap or leave gaps.

In Kafka 0.8 `kafka.consumer.PartitionAssignor` with `RangeAssignor` and `RoundRobinAssignor`.

The catalogue of the 0.8 consumer's strategies. To add one: a function in `kafka_coordinator.zookeeper.catalogue`,
and a record here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from protocols.java import sorted_as_java, string_hash
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
