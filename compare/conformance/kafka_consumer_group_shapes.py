"""Requests, answers and groups of the consumer protocol in the form of Kafka's recorded coordinator traces.

Member ids in requests are real here, as in `compare.conformance.kafka_coordinator_shapes`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from compare.json_types import Json
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer_group_messages import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeAnswer,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
)
from kafka_coordinator.coordinator import BrokerSettings
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.checks import check_request
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.refusing import Refused
from protocols.engine.nodes import Message

_MEMBER_STATES: Mapping[str, str] = {
    states.M_STABLE: "STABLE",
    states.UNREVOKED: "UNREVOKED_PARTITIONS",
    states.UNRELEASED: "UNRELEASED_PARTITIONS",
}

Request: TypeAlias = Mapping[str, Any]
"""A recorded request. The coordinator judges its values: a recording may ask for what no client would."""


def _heartbeat(n: int, req: Request) -> ConsumerGroupHeartbeat:
    topics, owned = req["subscribed"], req["owned"]
    return ConsumerGroupHeartbeat(
        n,
        req["group_id"],
        req["member_id"],
        req["member_epoch"],
        req["instance_id"],
        req.get("rack"),
        req["rebalance_timeout_ms"],
        None if topics is None else tuple(topics),
        req["regex"],
        req["assignor"],
        None if owned is None else tuple((topic, number) for topic, number in owned),
        version=req["api_version"],
    )


CONSUMER_REQUESTS: Mapping[str, Callable[[int, Request], Message]] = {
    "consumer_group_heartbeat": _heartbeat,
    "consumer_group_describe": lambda n, req: ConsumerGroupDescribe(n, req["group_id"]),
}
"""Operation to the message (number of the step, the recorded request)."""


def with_blank_rack(request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeat:
    """A heartbeat that was refused as invalid although nothing recorded of it is: then it is the one field that the
    recording leaves out, the rack, which was blank. One with a recorded fault stays as it is."""
    try:
        check_request(BrokerSettings(), request._replace(assignor=None))
    except Refused:
        return request
    return request._replace(rack="")


def _listed(partitions: Iterable[Partition]) -> Json:
    return [[topic, number] for topic, number in sorted(partitions)]


def _answered(answer: ConsumerGroupHeartbeatAnswer) -> Json:
    return {
        "error": answer.error,
        "member_id": answer.member_id,
        "member_epoch": answer.member_epoch,
        "heartbeat_interval_ms": answer.heartbeat_interval_ms,
        "assignment": None if answer.assignment is None else _listed(answer.assignment),
    }


def _described(answer: ConsumerGroupDescribeAnswer) -> Json:
    return {
        "error": answer.error,
        "state": answer.state,
        "group_epoch": answer.group_epoch,
        "assignment_epoch": answer.assignment_epoch,
        "assignor": answer.assignor,
        "members": [
            {
                "member_id": each.member_id,
                "instance_id": each.instance_id,
                "member_epoch": each.member_epoch,
                "member_type": 0 if each.is_classic else 1,
                "subscribed": list(each.topics),
                "regex": each.regex,
                "assignment": _listed(each.assignment),
                "target_assignment": _listed(each.target),
            }
            for each in answer.members
        ],
    }


CONSUMER_ANSWERS: Mapping[type[Message], Callable[[Any], Json]] = {
    ConsumerGroupHeartbeatAnswer: _answered,
    ConsumerGroupDescribeAnswer: _described,
}


def consumer_group_state(group: ConsumerGroup) -> Json:
    """A group of the consumer protocol in the form of the recording."""
    return {
        "type": "consumer",
        "state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "preferred_assignor": group.preferred_assignor(),
        "members": {
            member.id: {
                "instance_id": member.profile.instance_id,
                "member_epoch": member.standing.epoch,
                "previous_member_epoch": member.standing.previous_epoch,
                "state": _MEMBER_STATES[member.standing.state],
                "subscribed": list(member.profile.topics),
                "regex": member.profile.regex,
                "assignor": member.profile.assignor,
                "rebalance_timeout_ms": member.profile.rebalance_timeout_ms,
                "assigned": _listed(member.standing.assigned),
                "pending_revocation": _listed(member.standing.pending),
                "target": _listed(group.target.get(member.id, ())),
                "classic_protocol": member.profile.classic is not None,
            }
            for member in group.members.values()
        },
    }
