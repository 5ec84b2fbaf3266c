"""Share groups in Kafka's coordinator traces: their requests and answers, their state, and the persister that a trace
sets. The format is in tests/golden/kafka/FORMAT-share.md."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from compare.conformance.kafka_requests import Field, fields_of, sorted_pairs
from compare.json_types import Json
from kafka_coordinator.cluster import (
    NONE,
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsAnswer,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsAnswer,
    InitializeShareStates,
    ShareGroup,
    ShareGroupDescribe,
    ShareGroupDescribeAnswer,
    ShareGroupHeartbeat,
    ShareGroupHeartbeatAnswer,
    ShareStatesAnswer,
)
from protocols.engine.nodes import Message

SHARE_REQUESTS: Final[Mapping[str, tuple[type[Message], tuple[Field, ...]]]] = {
    "share_group_heartbeat": (
        ShareGroupHeartbeat,
        (
            Field("member_id"),
            Field("member_epoch"),
            Field("rack_id", "rack"),
            Field(
                "subscribed",
                "topics",
                lambda topics: None if topics is None else tuple(topics),
                lambda topics: None if topics is None else list(topics),
            ),
            Field("client_id", read=lambda missing: "c", optional=True),
        ),
    ),
    "share_group_describe": (ShareGroupDescribe, ()),
    "alter_share_group_offsets": (
        AlterShareGroupOffsets,
        (
            Field(
                "offsets",
                "",
                lambda offsets: tuple(((topic, number), offset) for topic, number, offset in offsets),
                lambda offsets: [[*partition, offset] for partition, offset in offsets],
            ),
        ),
    ),
    "delete_share_group_offsets": (DeleteShareGroupOffsets, (Field("topics", "", tuple, list),)),
}
"""As `kafka_coordinator_shapes.REQUESTS`; the recording's clients have one client id."""


def _rows(errors: Iterable[tuple[tuple[str | int, ...], str]]) -> Json:
    rows: list[Json] = [[*named, error] for named, error in sorted(errors)]
    return rows


SHARE_ANSWERS: Final[Mapping[type[Message], Callable[[Any], Json]]] = {
    ShareGroupHeartbeatAnswer: lambda answer: {
        **fields_of(answer, "error", "member_id", "member_epoch", "heartbeat_interval_ms"),
        "assignment": None if answer.assignment is None else sorted_pairs(answer.assignment),
    },
    ShareGroupDescribeAnswer: lambda answer: {
        **fields_of(answer, "error", "state", "group_epoch", "assignment_epoch", "assignor"),
        "members": [
            {
                **fields_of(member, "member_id", "member_epoch", "client_id"),
                "rack_id": member.rack,
                "subscribed": list(member.topics),
                "assignment": sorted_pairs(member.assignment),
            }
            for member in answer.members
        ],
    },
    AlterShareGroupOffsetsAnswer: lambda answer: {
        "error": answer.error,
        "results": _rows(answer.errors),
    },
    DeleteShareGroupOffsetsAnswer: lambda answer: {
        "error": answer.error,
        "results": _rows([((topic,), error) for topic, error in answer.errors]),
    },
}

_HOLD: Final = "hold"
_THROWS: Final = "throw:"


class Persister:
    """The persister of a trace: it answers at once as it is told to, or holds its answers."""

    def __init__(self) -> None:
        self.mode = "ok"
        self._held: list[int] = []

    def asked(self, call: Message) -> ShareStatesAnswer | None:
        """The answer to a call; None: not yet."""
        number: int = call[0]
        if self.mode == _HOLD:
            self._held.append(number)
            return None
        error = NONE if self.mode == "ok" else self.mode.removeprefix(_THROWS)
        return ShareStatesAnswer(number, error, self.mode.startswith(_THROWS))

    def release(self) -> list[ShareStatesAnswer]:
        """All that is held succeeds."""
        held, self._held = self._held, []
        return [ShareStatesAnswer(number, NONE) for number in held]


def shown_call(call: Message) -> Json:
    """A call to the persister in the form of the recording."""
    if isinstance(call, InitializeShareStates):
        rows: list[Json] = [[*partition, call.state_epoch, offset] for partition, offset in call.partitions]
        return {"call": "initialize", "group": call.group, "partitions_state_epoch_start_offset": rows}
    return {"call": "delete", "group": call[1], "partitions": sorted_pairs(call[2])}


def share_group_state(group: ShareGroup) -> Json:
    """A share group in the form of the recording."""
    kept = group.kept

    def listed(numbers: Mapping[str, frozenset[int]]) -> Json:
        return sorted_pairs((topic, number) for topic, each in numbers.items() for number in each)

    return {
        "type": "share",
        "state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "subscription_type": "HOMOGENEOUS" if group.homogeneous() else "HETEROGENEOUS",
        "members": {
            member.id: {
                "member_epoch": member.epoch,
                "previous_member_epoch": member.previous_epoch,
                "state": "STABLE",
                "subscribed": list(member.topics),
                "rack_id": member.rack,
                "assigned": sorted_pairs(member.assigned),
                "target": sorted_pairs(group.target[member.id].partitions if member.id in group.target else ()),
            }
            for member in group.members.values()
        },
        "initializing": None if kept is None else listed(kept.initializing),
        "initialized": None if kept is None else listed(kept.initialized),
        "deleting": None if kept is None else sorted(kept.deleting),
    }
