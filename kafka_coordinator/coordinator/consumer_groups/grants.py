"""The facts about grants that the coordinator lets the observer see (`protocols.facts`); the group does not change.

What is granted to a member is what it is assigned, without what it must still give up. As in classic groups, members
with one client id count as one, and a rebalance ends when all members have reached the target of the group's epoch.
"""

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core
from protocols.engine.nodes import Outbox
from protocols.facts import Granted, RebalanceEnded
from protocols.queues import Queue, sort_queues


def observe_grant(core: Core, group: ConsumerGroup, member: ConsumerMember, out: Outbox) -> None:
    """What the client id of this member has may have changed; the member may be gone."""
    name = member.profile.client_id
    queues = _granted_to(core, group, name, member)
    if queues == group.granted.get(name, ()):
        return
    group.moved = True
    if queues:
        group.granted[name] = queues
    else:
        del group.granted[name]
    out.observe(Granted(group.id, name, queues, max(member.standing.epoch, 0)))


def _granted_to(core: Core, group: ConsumerGroup, name: str, member: ConsumerMember) -> tuple[Queue, ...]:
    count = group.names.get(name, 0)
    if count == 1 and member.id in group.members:
        return sort_queues([core.queue(partition) for partition in member.standing.assigned])
    found: set[Partition] = set()
    if count:
        for each in group.members.values():
            if each.profile.client_id == name:
                found |= each.standing.assigned
    return sort_queues([core.queue(partition) for partition in found])


def observe_end(group: ConsumerGroup, out: Outbox) -> None:
    """The rebalance is over if everybody has the target of the group's epoch, or nobody is left."""
    if group.ended_epoch < group.epoch and group.derived_state() in (states.STABLE, states.EMPTY):
        group.ended_epoch = group.epoch
        changed, group.moved = group.moved, False
        out.observe(RebalanceEnded(group.id, group.epoch, changed))


def granted_now(core: Core, group: ConsumerGroup) -> dict[str, tuple[Queue, ...]]:
    """What each client id has, as a group that has just been loaded shows it."""
    found: dict[str, set[Partition]] = {}
    for member in group.members.values():
        if member.standing.assigned:
            found.setdefault(member.profile.client_id, set()).update(member.standing.assigned)
    return {name: sort_queues([core.queue(each) for each in partitions]) for name, partitions in found.items()}
