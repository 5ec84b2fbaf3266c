"""Kafka's group coordinator: members that heartbeat, every message, timer and check simulated.

A group forms through JoinGroup and SyncGroup; then every member heartbeats each three seconds. Counted are events that
are handled: a member's timer, its heartbeat's arrival at the coordinator, the answer's arrival at the member. The
members are the least that keeps a group alive, not `kafka_coordinator.consumer`.

python -m benchmarks.coordinator [--members N] [--minutes N]
"""

import time
from typing import Any, Self

import click
from tabulate import tabulate

from kafka_coordinator.coordinator import Coordinator
from kafka_coordinator.messages import (
    ConsumerMetadata,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation

GROUP, BROKER = "group", "broker"
INTERVAL_MS = 3_000
FORMING_MS = 30_000
LEAST_PER_SECOND = 150_000
"""Events per CPU second that must be reached."""


class HeartbeatingMember:
    """Joins, syncs, and heartbeats until the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.member_id = ""
        self.generation = -1
        self.heartbeats = 0

    def start(self, now: Time, out: Outbox) -> None:
        self._join(out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        match message:
            case HeartbeatAnswer(_, error):
                if error != "NONE":
                    raise AssertionError(error)
            case JoinGroupAnswer(error="MEMBER_ID_REQUIRED"):
                self.member_id = message.member_id
                self._join(out)
            case JoinGroupAnswer():
                self.generation = message.generation
                assignments = {each.member_id: ((each.member_id, 0),) for each in message.members}
                sync = SyncGroup(0, GROUP, self.member_id, self.generation, None, "consumer", "range", assignments)
                out.send(BROKER, sync)
            case SyncGroupAnswer():
                out.set_timer("heartbeat", now + INTERVAL_MS)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.heartbeats += 1
        out.send(BROKER, Heartbeat(self.heartbeats, GROUP, self.member_id, self.generation, None))
        out.set_timer(timer, now + INTERVAL_MS)

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None: ...

    def copy(self) -> Self:
        raise NotImplementedError

    def key(self, now: Time) -> tuple[Any, ...]:
        raise NotImplementedError

    def _join(self, out: Outbox) -> None:
        metadata = ConsumerMetadata(("topic",))
        out.send(
            BROKER,
            JoinGroup(0, GROUP, self.member_id, None, self.name, 45_000, 300_000, "consumer", (("range", metadata),)),
        )


def measured(members: int, minutes: int) -> tuple[int, float, float]:
    """Events handled while the group is stable, CPU seconds for them, CPU seconds to form the group."""
    simulation = Simulation()
    simulation.start(BROKER, Coordinator(BROKER))
    nodes = [HeartbeatingMember(f"c{number}") for number in range(members)]
    began = time.process_time()
    for node in nodes:
        simulation.start(node.name, node)
    simulation.run(FORMING_MS)
    formed = time.process_time()
    before = _handled(simulation, nodes)
    simulation.run(FORMING_MS + minutes * 60_000)
    ended = time.process_time()
    return _handled(simulation, nodes) - before, ended - formed, formed - began


def _handled(simulation: Simulation, nodes: list[HeartbeatingMember]) -> int:
    return sum(simulation.messages.values()) + sum(node.heartbeats for node in nodes)


@click.command()
@click.option("--members", default=1_000, show_default=True)
@click.option("--minutes", default=10, show_default=True, help="Virtual time while the group is stable.")
def main(members: int, minutes: int) -> None:
    """Heartbeats of a stable group."""
    events, seconds, forming = measured(members, minutes)
    rate = events / seconds
    print(
        tabulate(
            [[members, minutes, events, f"{forming:.2f}", f"{seconds:.2f}", f"{rate:,.0f}", f"{LEAST_PER_SECOND:,}"]],
            headers=["members", "minutes", "events", "forming (CPU s)", "CPU s", "events / CPU s", "at least"],
        )
    )


if __name__ == "__main__":
    main()
