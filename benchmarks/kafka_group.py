"""Kafka groups in the simulation: rebalances per second, and how cost grows from 100 to 10,000 members.

A third member joins a stable two until all have fetched their offsets: fixed latency, every request, timer and check.
A group forms from nothing and survives losing a hundredth of its members (cooperative-sticky, two minutes).

python -m benchmarks.kafka_group [--members N]    with N: only this group, as JSON
"""

import json
import time

import click
from tabulate import tabulate

from benchmarks.large_groups import COLUMNS, Last, each_alone, spent
from kafka_coordinator.cluster import KafkaCluster
from kafka_coordinator.consumer import Close, Consumer
from kafka_coordinator.consumer.states import STABLE
from protocols.engine.links import Latency
from protocols.engine.simulation import Simulation
from protocols.scenario.events import Crash
from protocols.scenario.groups import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.running import Run
from protocols.timeline import Recorder

SIZES = (100, 1_000, 10_000)
ROUNDS = 5
JOINS = 200


class Two:
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
        two = Two(assignor, tracing)
        best = max(best, JOINS / sum(two.join() for _ in range(JOINS)))
    return best


def large_group(members: int) -> dict[str, float]:
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


@click.command()
@click.option("--members", type=int, help="Only this group, as JSON.")
def main(members: int | None) -> None:
    """Print the tables."""
    if members is not None:
        print(json.dumps(large_group(members)))
        return
    rows = [
        (assignor, rebalances_per_second(assignor, False), rebalances_per_second(assignor, True))
        for assignor in ("range", "sticky")
    ]
    print("A third member joins a stable two until all have fetched their offsets, rebalances per CPU second:")
    headers = ["assignor", "tracing off (must reach 2,000)", "tracing on (must reach 500)"]
    print(tabulate(rows, headers, floatfmt=",.0f"))
    found = each_alone("benchmarks.kafka_group", "--members", SIZES)
    print("\nA group forms from nothing, loses 1 % of its members, cooperative-sticky, two minutes")
    print("(10,000 members: must be below 15 CPU seconds and 2,000 MB):")
    print(tabulate(found, ["members", *COLUMNS], floatfmt=("", ".2f", ",.0f", "", ""), intfmt=","))


if __name__ == "__main__":
    main()
