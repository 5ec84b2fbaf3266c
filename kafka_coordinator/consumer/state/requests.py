"""Requests that are on their way (in Kafka `ConsumerNetworkClient` and `InFlightRequests`)."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from protocols.engine.nodes import Message, Time


class InFlightRequest(NamedTuple):
    """A request that was sent and not answered: receiver, type, deadline, and what the handler of its answer needs."""

    to: str
    kind: type[Message]
    deadline: Time
    about: object


@dataclass(slots=True)
class Requests:
    """The requests without answer, and when the oldest is given up."""

    correlation: int = 0
    """The number of the last request."""
    in_flight: dict[int, InFlightRequest] = field(default_factory=dict)
    check_at: Time | None = None
    """When the timer looks for requests that were not answered in time."""

    def copy(self) -> "Requests":
        """An independent copy."""
        return replace(self, in_flight=self.in_flight.copy())

    def key(self, now: Time) -> tuple[object, ...]:
        """All that behaviour depends on, times relative to ``now``, numbers to the last one."""
        in_flight = [
            (self.correlation - number, each.to, each.kind.__name__, each.deadline - now, each.about)
            for number, each in self.in_flight.items()
        ]
        return tuple(in_flight), None if self.check_at is None else self.check_at - now
