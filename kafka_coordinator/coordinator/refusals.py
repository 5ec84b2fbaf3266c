"""Does a request come from the member that it names (spec 2.4)?

In Kafka `ClassicGroup.validateMember`.

Answers that refuse a request, one function for each type of request.

In Kafka the error branches of `GroupCoordinatorService`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.coordinator.group import NO_BYTES, Group
from kafka_coordinator.coordinator.share_groups import messages as share_messages
from kafka_coordinator.errors import COORDINATOR_LOAD_IN_PROGRESS, FENCED_INSTANCE_ID, NONE, UNKNOWN_MEMBER_ID
from kafka_coordinator.share import messages as leader_messages
from protocols.engine.nodes import Message


def identity_error(group: Group, member_id: str, instance_id: str | None) -> str:
    """The error for a request with these ids, NONE where they are those of a member."""
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is None:
            return UNKNOWN_MEMBER_ID
        if known != member_id:
            return FENCED_INSTANCE_ID
    return NONE if member_id in group.members else UNKNOWN_MEMBER_ID


NO_MEMBER = ""


def join_refused(correlation: int, error: str, member_id: str, protocol: str | None = "") -> messages.JoinGroupAnswer:
    """A JoinGroup that got nowhere. The protocol name is empty or null, depending on where Kafka noticed."""
    return messages.JoinGroupAnswer(correlation, error, NO_GENERATION, member_id, NO_MEMBER, None, protocol, False, ())


def sync_refused(correlation: int, error: str) -> messages.SyncGroupAnswer:
    return messages.SyncGroupAnswer(correlation, error, None, None, NO_BYTES)


def commit_refused(
    request: messages.OffsetCommit | messages.TxnOffsetCommit, error: str
) -> messages.OffsetCommitAnswer:
    return messages.OffsetCommitAnswer(
        request.correlation, tuple([(partition, error) for partition, _, _ in request.offsets])
    )


def heartbeat_refused(request: messages.Heartbeat, error: str) -> messages.HeartbeatAnswer:
    """While the log is being read a heartbeat is answered without an error (spec 1.4)."""
    return messages.HeartbeatAnswer(request.correlation, NONE if error == COORDINATOR_LOAD_IN_PROGRESS else error)


REFUSE: Mapping[type[Message], Callable[[Any, str], Message]] = {
    messages.JoinGroup: lambda request, error: join_refused(request.correlation, error, request.member_id),
    messages.SyncGroup: lambda request, error: sync_refused(request.correlation, error),
    messages.Heartbeat: heartbeat_refused,
    messages.LeaveGroup: lambda request, error: messages.LeaveGroupAnswer(request.correlation, error, ()),
    messages.OffsetCommit: commit_refused,
    messages.TxnOffsetCommit: commit_refused,
    messages.OffsetFetch: lambda request, error: messages.OffsetFetchAnswer(request.correlation, error, ()),
    messages.OffsetDelete: lambda request, error: messages.OffsetDeleteAnswer(request.correlation, error, ()),
    messages.DescribeGroup: lambda request, error: messages.DescribeGroupAnswer(
        request.correlation, error, "", "", "", ()
    ),
    messages.ConsumerGroupHeartbeat: lambda request, error: messages.ConsumerGroupHeartbeatAnswer(
        request.correlation, error, None, 0, 0, None
    ),
    messages.ConsumerGroupDescribe: lambda request, error: messages.ConsumerGroupDescribeAnswer(
        request.correlation, error, "", 0, 0, "", ()
    ),
    share_messages.ShareGroupHeartbeat: lambda request, error: share_messages.ShareGroupHeartbeatAnswer(
        request.correlation, error, None, 0, 0, None
    ),
    share_messages.ShareGroupDescribe: lambda request, error: share_messages.ShareGroupDescribeAnswer(
        request.correlation, error, "", 0, 0, "", ()
    ),
    share_messages.AlterShareGroupOffsets: lambda request, error: share_messages.AlterShareGroupOffsetsAnswer(
        request.correlation, error, ()
    ),
    share_messages.DeleteShareGroupOffsets: lambda request, error: share_messages.DeleteShareGroupOffsetsAnswer(
        request.correlation, error, ()
    ),
    leader_messages.ShareFetch: lambda request, error: leader_messages.ShareFetchAnswer(request.correlation, error),
    leader_messages.ShareAcknowledge: lambda request, error: leader_messages.ShareAcknowledgeAnswer(
        request.correlation, error
    ),
    messages.DeleteGroup: lambda request, error: messages.DeleteGroupAnswer(request.correlation, error),
}
"""Type of request about one group to the answer that refuses it as a whole."""


def refusal(request: Message, error: str) -> Message:
    """The answer that refuses a request about a group, or the questions who coordinates it and which there are.
    `KeyError` for others."""
    if isinstance(request, messages.FindCoordinator):
        return messages.CoordinatorFound(request.correlation, error, "")
    if isinstance(request, messages.ListGroups):
        return messages.ListGroupsAnswer(request.correlation, error, ())
    return REFUSE[type(request)](request, error)
