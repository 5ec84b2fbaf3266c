"""What goes between the clients' connections and the proxy: bare records. ``correlation`` is the number of a call or a
stream, which no other one has."""

from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from rocketmq_selfbalance.proxy.requests import TelemetryCommand

Response: TypeAlias = tuple[object, ...]
"""A record of `rocketmq_selfbalance.proxy.requests`."""


class Call(NamedTuple):
    """A client calls a method. ``deadline``: milliseconds that it waits."""

    correlation: int
    client_id: str
    method: str
    request: Response
    deadline: Time


class Answered(NamedTuple):
    """The answer in its parts, one but for methods that stream."""

    correlation: int
    responses: tuple[Response, ...]


class Cancelled(NamedTuple):
    """Nobody waits for the answer any more."""

    correlation: int


class Telemetry(NamedTuple):
    """A client says something on its stream."""

    correlation: int
    client_id: str
    command: TelemetryCommand


class Told(NamedTuple):
    """The proxy says something on a client's stream."""

    correlation: int
    command: TelemetryCommand


class StreamRefused(NamedTuple):
    """The proxy ends a client's stream with INVALID_ARGUMENT."""

    correlation: int
    why: str


class StreamClosed(NamedTuple):
    """A client's stream has ended."""

    correlation: int
