"""Kafka's coordinator and groups of the consumer protocol: a third member joins; large groups form and lose ten.

Every message and timer is simulated. The members are the least that keeps such a group going: they heartbeat every five
seconds, and say at once what they own whenever they are told something new.

python -m benchmarks.consumer_groups [--size N [--assignor range]]
"""

import json
import time
from typing import Any, Self

import click
from tabulate import tabulate

from benchmarks.large_groups import each_alone
from benchmarks.large_uniform import peak_megabytes
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer_group_messages import (
    JOINS,
    LEAVES,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
)
from kafka_coordinator.coordinator import BrokerSettings, Coordinator, Topics
from kafka_coordinator.coordinator.consumer_groups.states import STABLE
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation

GROUP, BROKER, TOPIC = "group", "broker", "topic"
INTERVAL_MS = 5_000
SIZES = (100, 1_000, 10_000)
LEAVING = 10
LEAST_PER_SECOND = 1_500
ROUNDS = 1_000
LIMITS = {1_000: "10 CPU s", 10_000: "120 CPU s, 2,000 MB"}


class ReconcilingMember:
    """Joins, heartbeats, and acknowledges at once; a message to it makes it leave."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = JOINS
        self.owned: tuple[Partition, ...] = ()
        self.sent = 0

    def start(self, now: Time, out: Outbox) -> None:
        self._send(out, rebalance_timeout_ms=300_000, topics=(TOPIC,), owned=())
        out.set_timer("heartbeat", now + INTERVAL_MS)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if not isinstance(message, ConsumerGroupHeartbeatAnswer):
            self.epoch = LEAVES
            self._send(out)
            out.cancel_timer("heartbeat")
            return
        if message.error != "NONE":
            raise AssertionError(message.error)
        if self.epoch == LEAVES:
            return
        self.epoch = message.member_epoch
        if message.assignment is not None and message.assignment != self.owned:
            self.owned = message.assignment
            self._send(out, owned=self.owned)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self._send(out)
        out.set_timer(timer, now + INTERVAL_MS)

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None: ...

    def copy(self) -> Self:
        raise NotImplementedError

    def key(self, now: Time) -> tuple[Any, ...]:
        raise NotImplementedError

    def _send(self, out: Outbox, **fields: Any) -> None:
        self.sent += 1
        request = ConsumerGroupHeartbeat(self.sent, GROUP, self.name, self.epoch, client_id=self.name, **fields)
        out.send(BROKER, request)


def begun(partitions: int, assignor: str = "uniform") -> tuple[Simulation, Coordinator]:
    """A simulation with a broker whose one topic has so many partitions."""
    simulation = Simulation()
    broker = Coordinator(BROKER, BrokerSettings(group_consumer_assignors=assignor))
    simulation.start(BROKER, broker)
    simulation.command(BROKER, Topics({TOPIC: partitions}))
    return simulation, broker


def settle(simulation: Simulation, broker: Coordinator) -> None:
    """Let time pass until the group is stable."""
    for _ in range(200):
        simulation.run(simulation.now + INTERVAL_MS)
        if broker.core.consumer_groups[GROUP].state == STABLE:
            return
    raise AssertionError("the group does not become stable")


def joins_per_second() -> float:
    """How often a third member can join a stable group of two, until all three have what they shall have."""
    spent = 0.0
    for _ in range(ROUNDS):
        simulation, broker = begun(6)
        for name in ("a", "b"):
            simulation.start(name, ReconcilingMember(name))
        settle(simulation, broker)
        before = time.process_time()
        simulation.start("c", ReconcilingMember("c"))
        settle(simulation, broker)
        spent += time.process_time() - before
    return ROUNDS / spent


def large(members: int, assignor: str = "uniform") -> dict[str, float]:
    """A group of as many partitions as members forms and loses ten."""
    began = time.process_time()
    simulation, broker = begun(members, assignor)
    names = [f"c{number}" for number in range(members)]
    for name in names:
        simulation.start(name, ReconcilingMember(name))
    settle(simulation, broker)
    formed = time.process_time()
    for name in names[:: members // LEAVING]:
        simulation.command(name, ("leave",))
    settle(simulation, broker)
    group = broker.core.consumer_groups[GROUP]
    assert len(group.members) == members - LEAVING
    assert len(group.owners) == members
    return {
        "forming": formed - began,
        "cpu_s": time.process_time() - began,
        "peak_mb": peak_megabytes(),
        "messages": sum(simulation.messages.values()),
    }


@click.command()
@click.option("--size", type=int, help="Only one group of so many members, its costs as JSON.")
@click.option("--assignor", default="uniform", help="Of that group.")
def main(size: int | None, assignor: str) -> None:
    """A third member's join, and large groups."""
    if size is not None:
        print(json.dumps(large(size, assignor)))
        return
    print(f"A third member joins a stable two until all are reconciled, tracing off: {joins_per_second():,.0f} per CPU")
    print(f"second (must reach {LEAST_PER_SECOND:,})\n")
    print(f"A group of N members and N partitions forms and loses {LEAVING}, every message simulated:")
    rows = [
        [f"{members:,}", f"{forming:.2f}", f"{cpu_s:.2f}", f"{peak:.0f}", f"{messages:,.0f}", LIMITS.get(int(members))]
        for members, forming, cpu_s, peak, messages in each_alone("benchmarks.consumer_groups", "--size", SIZES)
    ]
    headers = ["members", "forming (CPU s)", "all (CPU s)", "peak MB", "messages", "at most"]
    print(tabulate(rows, headers=headers, disable_numparse=True, colalign=("right",) * 5))


if __name__ == "__main__":
    main()
