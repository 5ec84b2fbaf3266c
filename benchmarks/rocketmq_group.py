"""RocketMQ groups in the simulation: joins per second, and a large group through an hour.

A third member joins a stable two on two brokers until all three hold a third each: every request and timer, nothing
passed over. A group of many clients on four brokers, each subscribed to fifty topics, starts, runs for an hour, and
has ten joins and leaves: what is quiet is computed, equal allocations are made once.

python -m benchmarks.rocketmq_group [--clients N]    with N: only this group, as JSON
"""

import json
import time

import click
from tabulate import tabulate

from benchmarks.large_groups import COLUMNS, Last, each_alone, spent
from protocols.engine.links import Latency
from protocols.engine.simulation import Simulation
from protocols.scenario.events import Event, Join, Leave
from protocols.scenario.groups import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import RunPart, Scenario, SystemPart
from protocols.scenario.running import Run
from rocketmq_selfbalance.client.commands import Shutdown
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.cluster import RocketMQCluster
from rocketmq_selfbalance.servers import NAME_SERVER

SIZES = (10, 100, 1_000)
ROUNDS = 3
JOINS = 100
TOPICS, BROKERS, QUEUES, CHANGES = 50, 4, 8, 10
"""Of the large group; ``QUEUES`` per topic and broker."""
HOUR_MS = 3_600_000.0


class Two:
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
    for _ in range(ROUNDS):
        two = Two()
        best = max(best, JOINS / sum(two.join() for _ in range(JOINS)))
    return best


def large_group(clients: int) -> dict[str, float]:
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


@click.command()
@click.option("--clients", type=int, help="Only this group, as JSON.")
def main(clients: int | None) -> None:
    """Print the tables."""
    if clients is not None:
        print(json.dumps(large_group(clients)))
        return
    print("A third member joins a stable two on two brokers, every request and timer, tracing off:")
    print(f"{joins_per_second():,.0f} joins per CPU second (must reach 500)")
    found = each_alone("benchmarks.rocketmq_group", "--clients", SIZES)
    print(f"\nA group on {TOPICS} topics of {QUEUES} queues at each of {BROKERS} brokers, an hour, {CHANGES} changes")
    print("(1,000 clients: at most 60 CPU seconds):")
    print(tabulate(found, ["clients", *COLUMNS], floatfmt=("", ".2f", ",.0f", "", ""), intfmt=","))


if __name__ == "__main__":
    main()
