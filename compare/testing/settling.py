"""When a group has settled: nothing changes any more unless something new happens. Who owns a queue then, and what
keeps RocketMQ's members from ever agreeing on it; Kafka's have a coordinator that decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compare.testing.clock import Clock
from compare.testing.group_interface import GroupInterface
from compare.testing.world import World
from protocols import Allocation
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.topology import MemberKey
from protocols.timeline.trace import queue_name
from rocketmq_selfbalance.cluster import RocketMQCluster, Standing
from rocketmq_selfbalance.cluster import cluster_members as disagreement

GRACE_MS: Time = 1_500.0
"""So long nothing may have changed: messages that are under way arrive, members that start have made their first pass
(RocketMQ's after a second)."""

QUIET_MS: Time = 150_000.0
"""A group of which a queue has no owner, or two, counts as settled when nothing has changed for so long: longer than
every timeout of both systems but ``max.poll.interval.ms``."""


def is_calm(world: World) -> bool:
    """Whether every queue that somebody alive subscribes to has exactly one owner, who is alive; no rebalance goes on;
    the system counts in exactly the living; nothing that happened is still going on."""
    quiet = world.now - world.last_change
    if quiet < GRACE_MS or world.busy_until is not None:
        return False
    return quiet >= QUIET_MS or (not unsettled(world) and not world.rebalancing and _counted_in(world))


def unsettled(world: World) -> list[Queue]:
    """The queues that somebody alive subscribes to and that have no owner or several, in order."""
    owners: dict[Queue, int] = {}
    for queues in world.owned.values():
        for queue in queues:
            owners[queue] = owners.get(queue, 0) + 1
    return [queue for _, queue in world.ending.expected() if owners.get(queue, 0) != 1]


def _counted_in(world: World) -> bool:
    topology = world.cluster.topology
    nodes = {topology.node[key] for key, part in world.ending.members.items() if part.subscribe or part.pattern}
    return world.cluster.registered(world.group) == nodes


@dataclass(frozen=True, slots=True)
class _ToChange:
    """A world that stops when something changes in it."""

    world: World

    def run(self, until: Time, stop: Callable[[], bool] | None = None) -> Time:
        self.world.run_to_change(until)
        return self.world.now


def settle(clock: Clock, worlds: list[World], within: Time) -> bool:
    """Let time pass until all are calm, at most so many milliseconds; whether they are."""
    limit = clock.time + within
    while True:
        restless = next((world for world in worlds if not is_calm(world)), None)
        if restless is None or clock.time >= limit:
            return restless is None
        grace = restless.last_change + GRACE_MS
        if restless.now < grace:
            clock.run(min(grace, limit))
            continue
        over = restless.busy_until
        clock.run(min(limit, restless.last_change + QUIET_MS if over is None else over), _ToChange(restless))


def single_owner(allocation: Allocation, topic: str, number: int, broker: str | None) -> str | None:
    """Who owns the queue; None where nobody does. `UserError` where there is no such queue, or several at different
    brokers, `AssertionError` where several members own it."""
    found = [
        (queue, owners)
        for queue, owners in allocation.owners.items()
        if (queue.topic, queue.number) == (topic, number) and broker in (None, queue.broker)
    ]
    if not found:
        there = ", ".join(map(queue_name, sorted(allocation.owners)))
        raise UserError(f"no queue {topic}-{number}, expected one of {there}")
    if len(found) != 1:
        raise UserError(f"{len(found)} queues {topic}-{number}, expected one; say which broker")
    if len(found[0][1]) > 1:
        raise AssertionError(f"{topic}-{number} has several owners: {', '.join(found[0][1])}")
    return found[0][1][0] if found[0][1] else None


def why_several(group: GroupInterface, members: Sequence[str]) -> str | None:
    """Why these members will go on owning the same queues: a sentence without its end. None: no reason is known."""
    return disagreement.why_several(_standings(group, members))


def why_nobody(group: GroupInterface, queue: Queue) -> str | None:
    """Why nobody will ever own this queue, likewise."""
    return disagreement.why_nobody(_standings(group, group.members), queue.topic)


def _standings(group: GroupInterface, members: Sequence[str]) -> list[Standing]:
    """In order of their names; nobody in Kafka."""
    cluster = group.world.cluster
    if not isinstance(cluster, RocketMQCluster):
        return []
    return [cluster.members.standing(MemberKey(group.name, member), group.topics) for member in sorted(members)]
