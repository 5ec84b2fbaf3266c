"""ConsumerGroupDescribe, and what lists and deletes groups of the consumer protocol (spec 2.13).

In Kafka `GroupMetadataManager.consumerGroupDescribe` and `ConsumerGroup.asDescribedGroup`.
"""

from collections.abc import Iterable

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.conversion import end_consumer_group
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.storing import delete_offset
from kafka_coordinator.errors import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NONE
from kafka_coordinator.messages import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeAnswer,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribedConsumer,
)
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java


def describe_consumer_group(core: Core, now: Time, sender: str, request: ConsumerGroupDescribe, out: Outbox) -> None:
    """Epochs, state and members; partitions of topics that are gone are left out."""
    group = core.consumer_groups.get(request.group)
    if group is None:
        out.send(sender, description_refused(request, GROUP_ID_NOT_FOUND))
        return
    members = tuple([_described(core, group, group.members[each]) for each in sorted_as_java(group.members)])
    assignor = group.preferred_assignor() or core.settings.assignors[0]
    out.send(
        sender,
        ConsumerGroupDescribeAnswer(
            request.correlation, NONE, group.state, group.epoch, group.target_epoch, assignor, members
        ),
    )


def description_refused(request: ConsumerGroupDescribe, error: str) -> ConsumerGroupDescribeAnswer:
    """The answer where there is nothing to describe."""
    return ConsumerGroupDescribeAnswer(request.correlation, error, "", 0, 0, "", ())


def _described(core: Core, group: ConsumerGroup, member: ConsumerMember) -> DescribedConsumer:
    profile = member.profile
    return DescribedConsumer(
        member.id,
        profile.instance_id,
        profile.rack,
        profile.client_id,
        profile.host,
        member.standing.epoch,
        profile.classic is not None,
        profile.topics,
        profile.regex,
        _known(core, member.standing.assigned),
        _known(core, group.target.get(member.id, ())),
    )


def _known(core: Core, partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    return tuple(sorted(partition for partition in partitions if partition[0] in core.partition_counts))


def delete(core: Core, group: ConsumerGroup, now: Time, sender: str, request: DeleteGroup, out: Outbox) -> None:
    """Delete a group without members, with its offsets."""
    error = NON_EMPTY_GROUP if group.members else NONE
    if error == NONE:
        delete_empty(core, group, states.DELETED, out)
    out.send(sender, DeleteGroupAnswer(request.correlation, error))


def delete_empty(core: Core, group: ConsumerGroup, event: str, out: Outbox) -> None:
    """The group ends, with its offsets."""
    for partition in list(group.offsets):
        delete_offset(core, group, partition)
    end_consumer_group(core, group, event, out)
