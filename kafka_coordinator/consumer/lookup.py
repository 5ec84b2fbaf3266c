"""Which broker is the group's coordinator (spec 1.2, 4.7): any broker knows.

In Kafka `AbstractCoordinator.ensureCoordinatorReady`, `lookupCoordinator`, `FindCoordinatorResponseHandler` and
`markCoordinatorUnknown`.
"""

from kafka_coordinator.consumer import requests, states
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.messages import CoordinatorFound, FindCoordinator
from protocols.engine.nodes import Outbox, Time


def any_broker(c: ConsumerState, out: Outbox) -> str:
    """A broker, chosen by the world, but not the one that failed last if there is another."""
    brokers = c.metadata.brokers
    if len(brokers) == 1:
        return brokers[0]
    if c.connections.failed:
        brokers = tuple([broker for broker in brokers if broker != c.connections.failed]) or brokers
    return out.choose("broker", brokers)


def look_up(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Ask for the coordinator, unless that is under way or the pause after a failure lasts."""
    if not c.lookup.in_progress:
        c.lookup.in_progress = True
        requests.send(c, now, any_broker(c, out), FindCoordinator(requests.number(c), c.config.group), out)


def forget(c: ConsumerState) -> None:
    """The coordinator is unknown from now on; with its connection go the requests that are on their way to it."""
    if c.lookup.coordinator is not None:
        c.connections.to_close = c.lookup.coordinator
        c.lookup.coordinator = None


def found(c: ConsumerState, now: Time, answer: CoordinatorFound, about: None, out: Outbox) -> None:
    """The answer: the coordinator, or try again; without permission the user's poll() throws."""
    if answer.error == "NONE":
        c.lookup.failures = 0
        c.heartbeats.heard_at = now
        if answer.broker == c.connections.failed:
            c.lookup.awaiting_reconnect = answer.broker
            out.set_timer(states.LOOKUP, now + c.config.settings.reconnect_backoff(c.connections.failures))
        else:
            c.lookup.in_progress = False
            c.lookup.coordinator = answer.broker
    elif answer.error in ("GROUP_AUTHORIZATION_FAILED", "INVALID_GROUP_ID"):
        c.lookup.in_progress = False
        c.user.fatal = answer.error
    else:
        failed(c, now, out)


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Nobody answered, or without a coordinator: again after a pause."""
    c.lookup.in_progress = True
    out.set_timer(states.LOOKUP, now + c.config.settings.backoff(c.lookup.failures))
    c.lookup.failures += 1


def retry(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.lookup.in_progress = False
    if c.lookup.awaiting_reconnect:
        c.lookup.coordinator, c.lookup.awaiting_reconnect = c.lookup.awaiting_reconnect, ""
    elif c.lookup.coordinator is None:
        look_up(c, now, out)
