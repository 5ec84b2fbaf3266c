"""What real clients asked a served coordinator, as a trace that `equipoise conformance` plays.

Requests about one group, with their times in whole milliseconds, become the steps of a trace in the form of
tests/golden/kafka/FORMAT-coordinator.md; a coordinator in virtual time is taken through them, and what it answers and
how the group then stands is what the trace says. Whether clients on sockets were answered the same is counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compare.conformance.kafka_coordinator import Session
from compare.conformance.kafka_coordinator_shapes import PARTITIONS, answer
from compare.json_types import Json
from kafka_coordinator.consumer_group_messages import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from kafka_coordinator.messages import (
    ConsumerMetadata,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
)
from protocols.engine.nodes import Message, Time


class Heard(NamedTuple):
    """A message between a client and the coordinator. ``peer``: the client's connection."""

    at: Time
    peer: str
    message: Message
    is_answer: bool


class TopicChange(NamedTuple):
    """From this time on there are these topics, with so many partitions each."""

    at: Time
    topics: Mapping[str, int]


class Recording(NamedTuple):
    """A trace, and how many answers that clients were given are others in it."""

    trace: Mapping[str, object]
    differing: int


def recording(
    group: str,
    heard: Sequence[Heard],
    topics: Sequence[TopicChange],
    topic_ids: Mapping[str, str],
    config: Mapping[str, object],
) -> Recording:
    """The trace of one group. ``topics``: at least one, the first of which holds from the beginning; ``topic_ids``: in
    base64; ``config``: settings of the broker that are not the defaults."""
    given: dict[tuple[str, int], Message] = {}
    for each in heard:
        if each.is_answer:
            given.setdefault((each.peer, each.message[0]), each.message)
    made = [each.message.member_id for each in heard if isinstance(each.message, JoinGroupAnswer)]
    ids = {f"m{number}": member for number, member in enumerate(dict.fromkeys(filter(None, made)), 1)}
    symbols = {member: symbol for symbol, member in ids.items()}
    steps: list[dict[str, object]] = []
    asked: dict[int, tuple[str, int]] = {}
    began = heard[0].at if heard else 0.0
    for at, op, req, source in _in_order(group, heard, topics[1:]):
        elapsed = int(at - began) - sum(each["req"]["ms"] for each in steps if each["op"] == "advance")  # type: ignore[index]
        if elapsed > 0:
            steps.append({"op": "advance", "req": {"ms": elapsed}})
        if source is not None:
            asked[len(steps)] = source
        steps.append({"op": op, "req": _with_symbols(req, symbols)})
    session = Session(ids, dict(config), dict(topics[0].topics), dict(topic_ids), steps)  # type: ignore[arg-type]
    played = [session.step(number, step) for number, step in enumerate(steps)]  # type: ignore[arg-type]
    for number, completed in session.completed_at.items():
        played[number]["completed_at_step"] = completed
    trace = {
        "trace_id": f"served-{group}",
        "protocol": "consumer" if ConsumerGroupHeartbeat in {type(each.message) for each in heard} else "classic",
        "scenario": "served",
        "config": dict(config),
        "topics": dict(topics[0].topics),
        "topic_ids": dict(topic_ids),
        "ids": ids,
        "steps": played,
    }
    answered = dict(_answers(played))
    differing = sum(
        source in given and number in answered and answer(given[source]) != answered[number]
        for number, source in asked.items()
    )
    return Recording(trace, differing)


def _with_symbols(req: Mapping[str, Json], symbols: Mapping[str, str]) -> dict[str, Json]:
    """The request with symbols for ids that the coordinator has made."""
    found = dict(req)
    if isinstance(member := req.get("member_id"), str):
        found["member_id"] = symbols.get(member, member)
    if isinstance(assignments := req.get("assignments"), dict):
        found["assignments"] = {symbols.get(member, member): text for member, text in assignments.items()}
    if isinstance(members := req.get("members"), list):
        found["members"] = [_with_symbols(each, symbols) for each in members if isinstance(each, dict)]
    return found


def _answers(played: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, object]]:
    for number, step in enumerate(played):
        if "resp" in step:
            yield number, step["resp"]
        for each in step["completed"]:
            yield each["step"], each["resp"]


def _in_order(
    group: str, heard: Sequence[Heard], topics: Sequence[TopicChange]
) -> Iterator[tuple[Time, str, dict[str, Json], tuple[str, int] | None]]:
    """Time, operation, request and where it came from, in the order of time."""
    waiting = list(topics)
    for each in heard:
        while waiting and waiting[0].at <= each.at:
            change = waiting.pop(0)
            yield change.at, "set_topics", {"topics": dict(change.topics)}, None
        write = _WRITTEN.get(type(each.message))
        if not each.is_answer and write is not None and getattr(each.message, "group", None) == group:
            op, req = write(each.message)
            yield each.at, op, {"group_id": group, **req}, (each.peer, each.message[0])


def _join(message: JoinGroup) -> tuple[str, dict[str, Json]]:
    metadata = message.protocols[0][1] if message.protocols else None
    topics = list(metadata.topics) if isinstance(metadata, ConsumerMetadata) else []
    return "join_group", {
        "member_id": message.member_id,
        "instance_id": message.instance_id,
        "client_id": getattr(message.client_id, "client_id", message.client_id),
        "session_timeout_ms": message.session_timeout_ms,
        "rebalance_timeout_ms": message.rebalance_timeout_ms,
        "protocol_type": message.protocol_type,
        "protocols": [name for name, _ in message.protocols],
        "topics": topics,
        "api_version": message.version,
    }


def _sync(message: SyncGroup) -> tuple[str, dict[str, Json]]:
    return "sync_group", {
        "member_id": message.member_id,
        "generation": message.generation,
        "instance_id": message.instance_id,
        "protocol_type": message.protocol_type,
        "protocol": message.protocol,
        "assignments": {member: _text(given) for member, given in message.assignments.items()},
    }


def _text(assignment: object) -> str:
    if isinstance(assignment, tuple):
        return PARTITIONS + ",".join(f"{topic}-{number}" for topic, number in assignment)
    return assignment.decode("latin-1") if isinstance(assignment, bytes) else str(assignment)


def _heartbeat(message: Heartbeat) -> tuple[str, dict[str, Json]]:
    return "heartbeat", {
        "member_id": message.member_id,
        "generation": message.generation,
        "instance_id": message.instance_id,
    }


def _leave(message: LeaveGroup) -> tuple[str, dict[str, Json]]:
    members: list[Json] = [{"member_id": each.member_id, "instance_id": each.instance_id} for each in message.members]
    return "leave_group", {"members": members}


def _commit(message: OffsetCommit) -> tuple[str, dict[str, Json]]:
    return "offset_commit", {
        "member_id": message.member_id,
        "generation_or_epoch": message.generation,
        "instance_id": message.instance_id,
        "offsets": [[*partition, offset] for partition, offset, _ in message.offsets],
        "api_version": message.version,
    }


def _fetch(message: OffsetFetch) -> tuple[str, dict[str, Json]]:
    partitions: Json = None if message.partitions is None else [list(each) for each in message.partitions]
    return "offset_fetch", {
        "member_id": message.member_id,
        "member_epoch": message.generation,
        "partitions": partitions,
    }


def _beat(message: ConsumerGroupHeartbeat) -> tuple[str, dict[str, Json]]:
    return "consumer_group_heartbeat", {
        "member_id": message.member_id,
        "member_epoch": message.member_epoch,
        "instance_id": message.instance_id,
        "rack": message.rack,
        "rebalance_timeout_ms": message.rebalance_timeout_ms,
        "subscribed": None if message.topics is None else list(message.topics),
        "regex": message.regex,
        "assignor": message.assignor,
        "owned": None if message.owned is None else [list(each) for each in message.owned],
        "api_version": message.version,
    }


_WRITTEN: Mapping[type[Message], Callable[[Any], tuple[str, dict[str, Json]]]] = {
    JoinGroup: _join,
    SyncGroup: _sync,
    Heartbeat: _heartbeat,
    LeaveGroup: _leave,
    OffsetCommit: _commit,
    OffsetFetch: _fetch,
    OffsetDelete: lambda message: ("offset_delete", {"partitions": [list(each) for each in message.partitions]}),
    DeleteGroup: lambda message: ("delete_group", {}),
    DescribeGroup: lambda message: ("describe_group", {}),
    ConsumerGroupHeartbeat: _beat,
    ConsumerGroupDescribe: lambda message: ("consumer_group_describe", {}),
}
"""Type of request to its operation and fields: the inverse of `kafka_coordinator_shapes.REQUESTS` beside this file."""
