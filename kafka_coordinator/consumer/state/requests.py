"""Requests that are on their way (in Kafka `ConsumerNetworkClient` and `InFlightRequests`)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Message, Time
from protocols.node_state import NodeState


class InFlightRequest(NamedTuple):
    """A request that was sent and not answered: receiver, type, deadline, and what the handler of its answer needs."""

    to: str
    kind: type[Message]
    deadline: Time
    about: object


@dataclass(slots=True)
class Requests(NodeState):
    """The requests without answer, and when the oldest is given up."""

    correlation: int = 0
    """The number of the last request."""
    in_flight: dict[int, InFlightRequest] = field(default_factory=dict)
    check_at: Time | None = None
    """When the timer looks for requests that were not answered in time."""
