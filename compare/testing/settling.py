"""When a group has settled: nothing changes any more unless something new happens."""

from collections.abc import Callable
from dataclasses import dataclass

from compare.testing.clock import Clock
from compare.testing.world import World
from protocols.engine.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.cluster import RocketMQCluster

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
    if _all_pop(world):
        return []
    return [queue for _, queue in world.ending.expected() if owners.get(queue, 0) != 1]


def _all_pop(world: World) -> bool:
    """Whether all members take messages by POP, so that no queue ever has an owner."""
    cluster = world.cluster
    return isinstance(cluster, RocketMQCluster) and world.ending.members.keys() <= cluster.members.popping


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
