"""Recordings of RocketMQ's 5.x clients before a real proxy, as they are read: calls with their answers, deliveries, the
cluster, and what was done to it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from compare.conformance.cases import Line, MalformedCase, validated
from compare.conformance.recordings import MOST_MS, Part

Ms = Annotated[int, Field(ge=0, le=MOST_MS)]


Request = Annotated[dict[str, Any] | None, BeforeValidator(lambda told: told if isinstance(told, dict) else None)]
"""Calls that were never sent have a list in its place."""


class RecordedTopic(Part):
    """``queues``: broker to their number."""

    queues: dict[str, Annotated[int, Field(ge=0, le=64)]]
    type: str = "NORMAL"


class RecordedGroup(Part):
    """As the group was made."""

    retryMaxTimes: int = 16  # noqa: N815 - the recording's own name
    consumeMessageOrderly: bool = False  # noqa: N815


class Topology(Part):
    """The cluster."""

    brokers: dict[str, str]
    proxySettings: dict[str, Any] = Field(default_factory=dict)  # noqa: N815
    topics: dict[str, RecordedTopic] = Field(default_factory=dict)
    groups: dict[str, RecordedGroup] = Field(default_factory=dict)


class RecordedCall(Part):
    """A call, or something that was said on a telemetry stream."""

    t_ms: Ms
    call: int
    method: str
    client: str | None = None
    deadline_ms: int | None = None
    end_ms: int | None = None
    request: Request = None
    response: Any = None
    responses: list[dict[str, Any]] = Field(default_factory=list)
    grpcStatus: str | None = None  # noqa: N815
    what: str = ""
    dir: str = ""
    message: dict[str, Any] | None = None
    detail: str = ""


class RecordedAction(Part):
    """What was done when."""

    t_ms: Ms
    action: str
    topic: str | None = None
    queues: dict[str, int] | None = None
    client: str | None = None


class Recording(Part):
    """One story."""

    name: str
    topology: Topology
    recordedAt_ms: int  # noqa: N815
    lengthMs: Ms  # noqa: N815
    loadAverage: list[float] = Field(default_factory=list)  # noqa: N815
    script: list[RecordedAction] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    grpc: list[RecordedCall]


def recognises(line: Line) -> bool:
    """Whether a line is meant to be such a recording."""
    return isinstance(line.get("grpc"), list) and isinstance(line.get("topology"), Mapping)


def read(line: Line) -> Recording:
    """Raises `MalformedCase` for what is none."""
    recording = validated(Recording, line)
    for topic, told in recording.topology.topics.items():
        for broker in told.queues:
            if broker not in recording.topology.brokers:
                raise MalformedCase(f"topology.topics.{topic}", "queues of brokers of the topology", broker)
    return recording


def delivered_in(call: RecordedCall) -> list[dict[str, Any]]:
    """The messages that a ReceiveMessage was answered with."""
    return [part["message"] for part in call.responses if "message" in part]


def system_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message's system properties."""
    found = message.get("systemProperties", {})
    return found if isinstance(found, Mapping) else {}
