"""RocketMQ's strategies for all of 1,000 clients on 10,000 queues: the group-wide form beside the per-member form.

The per-member form is what every client of a real group computes, in a process of its own. It is measured on a
sample of the clients and scaled to all of them. `allocate` is the group-wide form with everything around it: from a
`Group` to an `Allocation`.

python -m benchmarks rocketmq_strategies
"""

import time
from collections.abc import Callable
from functools import partial

from tabulate import tabulate

from protocols import Group, Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.strategies import (
    Averagely,
    AveragelyByCircle,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    PositionStrategy,
)
from rocketmq_selfbalance.strategies.consistent_hash import ring_of

CLIENTS, QUEUES, SAMPLE, REPEATS = 1_000, 10_000, 10, 3
JAVA_CONSISTENT_HASH_MS = 143.0  # one client of this group in the released jar, warmed up (measured apart)

ROOMS = MachineRoomResolver(lambda queue: queue.broker.partition("@")[0], lambda cid: f"room{cid[-1]}")
STRATEGIES: tuple[PositionStrategy, ...] = (
    Averagely(),
    AveragelyByCircle(),
    ConsistentHash(),
    ConsistentHash(100),
    ByMachineRoom(frozenset(f"room{n}" for n in range(5))),
    MachineRoomNearby(Averagely(), ROOMS),
    MachineRoomNearby(ConsistentHash(), ROOMS),
)


def milliseconds(work: Callable[[], object]) -> float:
    """CPU milliseconds, the best of a few runs, each without what the ring cache remembers."""
    best = float("inf")
    for _ in range(REPEATS):
        ring_of.cache_clear()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best * 1000


def main() -> None:
    brokers = {f"room{n % 10}@broker-{n}": QUEUES // 100 for n in range(100)}
    members = {f"10.0.{n // 250}.{n % 250}@{4000 + n}": ["T"] for n in range(CLIENTS)}
    group = Group.of(topics={"T": brokers}, members=members)
    queues, cids = sort_queues(group.queues), sorted_as_java(members)
    rows = []
    for strategy in STRATEGIES:
        group_wide = milliseconds(partial(strategy.positions_of_all, queues, cids))
        one = sum(one_client(strategy, cid, queues, cids) for cid in cids[:: CLIENTS // SAMPLE]) / SAMPLE
        composed = milliseconds(partial(allocate, strategy, group))
        virtual = f" ({strategy.virtual_nodes} virtual nodes)" if isinstance(strategy, ConsistentHash) else ""
        rows.append([strategy.name + virtual, composed, group_wide, one, one * CLIENTS, one * CLIENTS / group_wide])
    headers = ["strategy", "allocate", "group-wide", "one client", f"{CLIENTS:,} clients, scaled", "times faster"]
    print(f"{CLIENTS:,} clients, {QUEUES:,} queues of one topic; CPU milliseconds, best of {REPEATS}.")
    print(f"One client: the mean of {SAMPLE} spread over the list; scaled to the group by multiplying.")
    print(tabulate(rows, headers, tablefmt="github", floatfmt=("", ".1f", ".2f", ".3f", ",.0f", ",.0f")))
    java = JAVA_CONSISTENT_HASH_MS * CLIENTS / 1000
    print(f"CONSISTENT_HASH in Java: {JAVA_CONSISTENT_HASH_MS:.0f} ms a client, about {java:.0f} s for the group.")


def one_client(strategy: PositionStrategy, cid: str, queues: tuple[Queue, ...], cids: list[str]) -> float:
    return milliseconds(partial(strategy.positions, cid, queues, cids))


if __name__ == "__main__":
    main()
