"""Groups in the simulation: joins per second, and large groups, of both systems.

Peer: the bounds that follow from the engine's events (`benchmarks.engine`); each size runs in a process of its own.
A third member joins a stable two: every request, timer and check. Kafka's large group forms from nothing and
survives losing a hundredth of its members (cooperative-sticky, two minutes); RocketMQ's, each client on fifty
topics of four brokers, lives through an hour with ten joins and leaves. Budgets: 2,000 rebalances a CPU second (500
traced), 10,000 members in 10 CPU s and 2,000 MB; 100,000 of the consumer protocol, until they are at rest, in 120
CPU s and 4,096 MB; 500 joins a CPU second, 1,000 clients in 60 CPU s.

python -m benchmarks.groups [--members N | --consumer-members N | --clients N]    with N: only this group, as JSON
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from benchmarks.process_tree import peak_megabytes
from kafka_coordinator.cluster.cluster import KafkaCluster
from kafka_coordinator.consumer import Close, Consumer
from kafka_coordinator.consumer.states import STABLE
from protocols.engine.links import Latency
from protocols.engine.simulation import Simulation, Unobserved
from protocols.facts import Owns
from protocols.scenario.events import Crash, Event, Join, Leave
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import RunPart, Scenario, SystemPart
from protocols.scenario.running import Run
from protocols.timeline import Recorder
from rocketmq_selfbalance.client.commands import Shutdown
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.cluster.servers import NAME_SERVER

COLUMNS = ("CPU s", "peak MB of the process", "messages", "of these and of timers handled")
"""Of a table of `each_alone`, after the size."""


class Last(Unobserved):
    """Keeps how many queues every member believed to own last."""

    def __init__(self) -> None:
        self.owned: dict[str, int] = {}

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        if type(fact) is Owns:
            self.owned[fact.member] = len(fact.queues)


def spent(start: float, variant: Run) -> dict[str, float]:
    """What a run has cost that began at this CPU second of the process, in the order of `COLUMNS`."""
    return {
        "cpu_s": time.process_time() - start,
        "peak_mb": peak_megabytes(),
        "messages": sum(variant.simulation.messages.values()),
        "handled": variant.simulation.number,
    }


def each_alone(option: str, sizes: Iterable[int]) -> list[list[float]]:
    """Size and what it has cost, of each size: the module is called with the option and prints `spent` as JSON."""
    rows = []
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.groups", option, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
        rows.append([size, *json.loads(done.stdout).values()])
    return rows


MEMBERS = (100, 1_000, 10_000)
CONSUMER_MEMBERS = (10_000, 100_000)
ROUNDS = 5
KAFKA_JOINS = 200


class KafkaTwo:
    """A stable group of two on six partitions, and a third member that comes and goes."""

    def __init__(self, assignor: str, tracing: bool) -> None:
        members = {name: MemberPart(subscribe=("t",)) for name in ("c1", "c2", "c3")}
        scenario = Scenario(
            name="a third member joins",
            topics={"t": TopicPart(queues={"broker-a": 6})},
            groups={"g": GroupPart(members=members)},
            run={"for": 3_600_000.0},
        )
        observer = Recorder() if tracing else None
        self.simulation = Simulation(latency=Latency(2.0, 2.0), observer=observer, tracing=tracing)
        self.cluster = KafkaCluster(scenario, SystemPart(system=f"kafka:{assignor}"), self.simulation)
        self.cluster.start()
        self.simulation.run(20_000.0)
        third = self.cluster.consumer("c3")
        assert third is not None
        self._config = third.state.config
        self._leave()

    def join(self) -> float:
        """CPU seconds from the start of the third member until all three have fetched their offsets."""
        start = time.process_time()
        self.simulation.start("c3", Consumer(self._config))
        self.simulation.run(self.simulation.now + 3_100.0)
        spent = time.process_time() - start
        for name in ("c1", "c2", "c3"):
            consumer = self.cluster.consumer(name)
            assert consumer is not None
            state = consumer.state
            assert state.membership.state == STABLE
            assert len(state.subscription.positions) == 2
        self._leave()
        return spent

    def _leave(self) -> None:
        self.simulation.command("c3", Close())
        self.simulation.run(self.simulation.now + 4_000.0)
        self.simulation.end("c3")


def rebalances_per_second(assignor: str, tracing: bool) -> float:
    """Best of some rounds; with tracing a fresh simulation every round, because it keeps everything."""
    best = 0.0
    for _ in range(ROUNDS):
        two = KafkaTwo(assignor, tracing)
        best = max(best, KAFKA_JOINS / sum(two.join() for _ in range(KAFKA_JOINS)))
    return best


def large_kafka_group(members: int) -> dict[str, float]:
    """Forms from nothing, loses every hundredth member after a minute, and is settled after two."""
    start = time.process_time()
    crashed = [number * 97 % members for number in range(max(members // 100, 1))]
    scenario = Scenario(
        name="a large group",
        topics={"t": TopicPart(queues={"broker-a": members})},
        groups={"g": GroupPart(members={f"c{n}": MemberPart(subscribe=("t",)) for n in range(members)})},
        run={"for": 120_000.0},
        events=tuple(Crash(at=60_000.0, crash=f"c{number}") for number in crashed),
    )
    observer = Last()
    variant = Run.of(scenario, SystemPart(system="kafka:cooperative-sticky"), KafkaCluster, observer=observer).run()
    cost = spent(start, variant)
    owned = sorted(observer.owned.values())
    assert sum(owned) == members, "every partition has its owner again"
    assert owned[-1] <= 2
    return cost


def consumer_protocol_group(members: int) -> dict[str, float]:
    """All join at once, and the group is at rest after 12 seconds."""
    start = time.process_time()
    scenario = Scenario(
        name="a large group",
        topics={"t": TopicPart(queues={"broker-a": members})},
        groups={"g": GroupPart(members={f"c{n}": MemberPart(subscribe=("t",)) for n in range(members)})},
        run={"for": 12_000.0},
    )
    observer = Last()
    variant = Run.of(scenario, SystemPart(system="kafka:uniform"), KafkaCluster, observer=observer).run()
    cost = spent(start, variant)
    assert set(observer.owned.values()) == {1}, "everybody owns a partition"
    assert len(observer.owned) == members
    return cost


def kafka() -> None:
    """Print the tables."""
    rows = [
        (assignor, rebalances_per_second(assignor, False), rebalances_per_second(assignor, True))
        for assignor in ("range", "sticky")
    ]
    print("A third member joins a stable two until all have fetched their offsets, rebalances per CPU second:")
    headers = ["assignor", "tracing off (must reach 2,000)", "tracing on (must reach 500)"]
    print(tabulate(rows, headers, floatfmt=",.0f"))
    found = each_alone("--members", MEMBERS)
    print("\nA group forms from nothing, loses 1 % of its members, cooperative-sticky, two minutes")
    print("(10,000 members: must be below 10 CPU seconds and 2,000 MB):")
    print(tabulate(found, ["members", *COLUMNS], floatfmt=("", ".2f", ",.0f", "", ""), intfmt=","))
    found = each_alone("--consumer-members", CONSUMER_MEMBERS)
    print("\nA group of the consumer protocol forms from nothing, twelve seconds")
    print("(100,000 members: must be below 120 CPU seconds and 4,096 MB):")
    print(tabulate(found, ["members", *COLUMNS], floatfmt=("", ".2f", ",.0f", "", ""), intfmt=","))


CLIENTS = (10, 100, 1_000)
ROCKETMQ_ROUNDS = 3
JOINS = 100
TOPICS, BROKERS, QUEUES, CHANGES = 50, 4, 8, 10
"""Of the large group; ``QUEUES`` per topic and broker."""
HOUR_MS = 3_600_000.0


class RocketMQTwo:
    """A stable group of two on twelve queues of two brokers, and a third member that comes and goes."""

    def __init__(self) -> None:
        members = {name: MemberPart(subscribe=("t",)) for name in ("c1", "c2", "c3")}
        scenario = Scenario(
            name="a third member joins",
            brokers=("broker-a", "broker-b"),
            topics={"t": TopicPart(queues={"broker-a": 6, "broker-b": 6})},
            groups={"g": GroupPart(members=members)},
            run=RunPart.model_validate({"for": HOUR_MS}),
        )
        self.simulation = Simulation(latency=Latency(2.0, 2.0))
        self.cluster = RocketMQCluster(scenario, SystemPart(system="rocketmq:AVG"), self.simulation)
        self.cluster.start()
        self.simulation.run(20_000.0)
        third = self.cluster.client("c3")
        assert third is not None
        self._specs = third.specs
        self._leave()

    def join(self) -> float:
        """CPU seconds from the start of the third member until all three hold their third and pull it."""
        start = time.process_time()
        self.simulation.start("c3", Client("c3", (NAME_SERVER,), self._specs))
        self.simulation.run(self.simulation.now + 3_100.0)
        spent = time.process_time() - start
        for name in ("c1", "c2", "c3"):
            client = self.cluster.client(name)
            assert client is not None
            (consumer,) = client.instance.consumers.values()
            assert len([queue for queue in consumer.holds() if queue.topic == "t"]) == 4
        self._leave()
        return spent

    def _leave(self) -> None:
        self.simulation.command("c3", Shutdown())
        self.simulation.run(self.simulation.now + 10_000.0)
        self.simulation.end("c3")


def joins_per_second() -> float:
    """Best of some rounds."""
    best = 0.0
    for _ in range(ROCKETMQ_ROUNDS):
        two = RocketMQTwo()
        best = max(best, JOINS / sum(two.join() for _ in range(JOINS)))
    return best


def large_rocketmq_group(clients: int) -> dict[str, float]:
    """Starts from nothing; every five and a half minutes somebody joins or leaves, turn by turn."""
    start = time.process_time()
    brokers = tuple(f"broker-{letter}" for letter in "abcdefgh"[:BROKERS])
    topics = tuple(f"topic-{number}" for number in range(TOPICS))
    parts = {f"c{number}": MemberPart(subscribe=topics) for number in range(clients)}
    changes: list[Event] = []
    for number in range(CHANGES):
        at = HOUR_MS * (number + 1) / (CHANGES + 1)
        if number % 2:
            changes.append(Leave(at=at, leave=f"c{number}"))
        else:
            changes.append(Join(at=at, join=f"late{number}", subscribe=topics))
    scenario = Scenario(
        name="a large group",
        brokers=brokers,
        topics={topic: TopicPart(queues=dict.fromkeys(brokers, QUEUES)) for topic in topics},
        groups={"g": GroupPart(members=parts)},
        run=RunPart.model_validate({"for": HOUR_MS}),
        events=tuple(changes),
    )
    observer = Last()
    variant = Run.of(scenario, SystemPart(system="rocketmq:AVG"), RocketMQCluster, observer=observer).run()
    cost = spent(start, variant)
    assert sum(observer.owned.values()) == (TOPICS * QUEUES + 1) * BROKERS, "every queue has one owner again"
    return cost


def rocketmq() -> None:
    """Print the tables."""
    print("A third member joins a stable two on two brokers, every request and timer, tracing off:")
    print(f"{joins_per_second():,.0f} joins per CPU second (must reach 500)")
    found = each_alone("--clients", CLIENTS)
    print(f"\nA group on {TOPICS} topics of {QUEUES} queues at each of {BROKERS} brokers, an hour, {CHANGES} changes")
    print("(1,000 clients: at most 60 CPU seconds):")
    print(tabulate(found, ["clients", *COLUMNS], floatfmt=("", ".2f", ",.0f", "", ""), intfmt=","))


@click.command()
@click.option("--members", type=int, help="Only this group of Kafka's, as JSON.")
@click.option("--consumer-members", type=int, help="Only this group of the consumer protocol, as JSON.")
@click.option("--clients", type=int, help="Only this group of RocketMQ's, as JSON.")
def main(members: int | None, consumer_members: int | None, clients: int | None) -> None:
    """Print the tables."""
    if consumer_members is not None:
        print(json.dumps(consumer_protocol_group(consumer_members)))
        return
    if members is not None:
        print(json.dumps(large_kafka_group(members)))
    elif clients is not None:
        print(json.dumps(large_rocketmq_group(clients)))
    else:
        kafka()
        print()
        rocketmq()


if __name__ == "__main__":
    main()
