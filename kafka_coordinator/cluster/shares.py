"""What a group's strategy gives each of its members today, whatever they own: the property `fair-share` compares both.

Copies of the nodes are asked, so that nothing changes: the coordinator computes a target anew, as after any change of
the group; the leader of a classic group assigns anew, as if all had joined again with what they own now. A strategy
that keeps what is balanced gives the same again.
"""

from collections.abc import Mapping
from typing import TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.consumer import Consumer, assigning
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.target import compute_target
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.messages import ConsumerMetadata, JoinedMember, JoinGroupAnswer
from protocols.engine.nodes import Node, Time
from protocols.java import Queue, sort_queues

Shares: TypeAlias = dict[str, dict[str, tuple[Queue, ...]]]
"""Group to member (its name; the id that the coordinator knows where no consumer has it) to its queues."""


def shares(nodes: Mapping[str, Node], now: Time) -> Shares:
    """Of every group that a running broker coordinates. ``nodes``: those that run."""
    consumers = {
        (node.state.config.group, node.state.membership.member_id): node.state
        for node in nodes.values()
        if isinstance(node, Consumer) and not node.is_over
    }
    found: Shares = {}
    for node in nodes.values():
        if not isinstance(node, Broker):
            continue
        core = node.copy().coordinator.core
        given = {group.id: _targets(core, group, now) for group in core.consumer_groups.values()}
        given |= {group.id: _assigned(group, consumers) for group in core.groups.values()}
        for group, members in given.items():
            found[group] = {
                consumers[group, member].config.name if (group, member) in consumers else member: sort_queues(
                    map(core.queue, partitions)
                )
                for member, partitions in members.items()
            }
    return found


def _targets(core: Core, group: ConsumerGroup, now: Time) -> Mapping[str, tuple[Partition, ...]]:
    """The target of every member if it were computed now."""
    if group.members:
        caller = next(iter(group.members.values()))
        compute_target(core, group, caller, is_new=False, alike=group.homogeneous(), now=now)
    return {member: group.target.get(member, ()) for member in group.members}


def _assigned(group: Group, consumers: Mapping[tuple[str, str], ConsumerState]) -> Mapping[str, tuple[Partition, ...]]:
    """What the leader would give to each member; nothing in a group that has no leader among the consumers."""
    protocol, leader = group.protocol, consumers.get((group.id, group.leader or ""))
    nobody: dict[str, tuple[Partition, ...]] = dict.fromkeys(group.members, ())
    if protocol is None or leader is None:
        return nobody
    joined = []
    for member in group.ordered():
        state = consumers.get((group.id, member.id))
        metadata = member.metadata(protocol) if state is None else assigning.metadata_for(state, protocol)
        if isinstance(metadata, ConsumerMetadata):
            joined.append(JoinedMember(member.id, member.instance_id, metadata))
    asked = leader.copy()
    asked.assigning.group_topics = assigning.topics_of(tuple(joined))
    answer = JoinGroupAnswer(
        0, "NONE", group.generation, leader.membership.member_id, leader.membership.member_id, group.protocol_type,
        protocol, False, tuple(joined),
    )  # fmt: skip
    try:
        return nobody | assigning.assignments(asked, answer)
    except assigning.CannotAssignError:
        return nobody
