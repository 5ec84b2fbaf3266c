"""Requests and their answers: numbers that match them, and the time after which a request has failed.

A request that is not answered within ``request.timeout.ms`` ends the connection to its broker, and with it all
requests to this broker (as in Kafka). One timer looks after all of them.

In Kafka `ConsumerNetworkClient.send`, `InFlightRequests` and `NetworkClient.handleTimedOutRequests`.
"""

from kafka_coordinator import messages
from kafka_coordinator.consumer import states
from kafka_coordinator.consumer.state import ConsumerState, InFlightRequest
from protocols.engine.nodes import TICK, Message, Outbox, Time
from protocols.load import quickly_made

_in_flight = quickly_made(InFlightRequest)

REQUESTS = (
    messages.MetadataRequest,
    messages.FindCoordinator,
    messages.JoinGroup,
    messages.SyncGroup,
    messages.Heartbeat,
    messages.OffsetCommit,
    messages.OffsetFetch,
    messages.LeaveGroup,
    messages.ConsumerGroupHeartbeat,
)
"""What a consumer asks brokers."""


def number(c: ConsumerState) -> int:
    requests = c.requests
    requests.correlation += 1
    return requests.correlation


def send(
    c: ConsumerState, now: Time, to: str, message: Message, out: Outbox, *, about: object = None, within: float = 0.0
) -> None:
    """Send a request whose first field is a fresh `number`. ``within``: milliseconds, ``request.timeout.ms`` if 0.

    ``about`` is given back with the answer (or its failure).
    """
    # One tick later, so that it never falls together with what the consumer does every five or thirty seconds: which
    # of two is first would depend on when the timer was set.
    deadline = now + (within or c.config.settings.request_timeout_ms) + TICK
    requests = c.requests
    requests.in_flight[message[0]] = _in_flight((to, type(message), deadline, about))
    check_at = requests.check_at
    if check_at is None or deadline < check_at:
        requests.check_at = deadline
        out.set_timer(states.REQUESTS, deadline)
    out.send(to, message)


def overdue(c: ConsumerState, now: Time, out: Outbox) -> list[str]:
    """The timer is due: the brokers, in order, that did not answer in time. Sets the timer anew."""
    requests = c.requests
    late = dict.fromkeys(each.to for each in requests.in_flight.values() if each.deadline <= now)
    waiting = [each.deadline for each in requests.in_flight.values() if each.to not in late]
    requests.check_at = min(waiting, default=None)
    if requests.check_at is not None:
        out.set_timer(states.REQUESTS, requests.check_at)
    return list(late)


def lost(c: ConsumerState, broker: str) -> list[InFlightRequest]:
    """The requests to this broker, which will not be answered; they are in flight no longer."""
    in_flight = c.requests.in_flight
    numbers = [number for number, each in in_flight.items() if each.to == broker]
    return [in_flight.pop(number) for number in numbers]
