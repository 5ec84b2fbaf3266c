"""Which broker is the group's coordinator (spec 1.2, 4.7): any broker knows.

A consumer of the classic protocol asks in rounds, because nothing but the thread that asks remembers how often that was
in vain. A round is a call of poll(), or, while the user's loop is elsewhere, two turns of the heartbeat thread: it asks
in the one, and gives the question up in the other. Within a round the pauses double.

In Kafka `AbstractCoordinator.ensureCoordinatorReady`, `lookupCoordinator`, `FindCoordinatorResponseHandler`,
`markCoordinatorUnknown` and the loop of `HeartbeatThread`; `CoordinatorRequestManager` of the consumer protocol.
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
        if c.config.settings.is_classic and now >= c.lookup.round_ends:
            c.lookup.failures, c.lookup.round_ends = 0, now + _round_ms(c)
        requests.send(c, now, any_broker(c, out), FindCoordinator(requests.number(c), c.config.group), out)


def forget(c: ConsumerState) -> None:
    """The coordinator is unknown from now on; with its connection go the requests that are on their way to it."""
    if c.lookup.coordinator is not None:
        c.connections.to_close = c.lookup.coordinator
        c.lookup.coordinator = None


def found(c: ConsumerState, now: Time, answer: CoordinatorFound, about: None, out: Outbox) -> None:
    """The answer: the coordinator, or try again; without permission the user's poll() throws."""
    if answer.error == "NONE":
        c.heartbeats.heard_at = now
        settings, connections = c.config.settings, c.connections
        is_gone = answer.broker == connections.failed
        if is_gone and settings.is_classic and now < connections.reconnect_at:
            failed(c, now, out)
            return
        c.lookup.failures, c.lookup.round_ends = 0, 0.0
        if is_gone and not settings.is_classic:
            c.lookup.awaiting_reconnect = answer.broker
            out.set_timer(states.LOOKUP, now + settings.reconnect_backoff(connections.failures))
        else:
            c.lookup.in_progress = False
            c.lookup.coordinator = answer.broker
    elif answer.error in ("GROUP_AUTHORIZATION_FAILED", "INVALID_GROUP_ID"):
        c.lookup.in_progress = False
        c.user.fatal = answer.error
    else:
        failed(c, now, out)


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Nobody answered, or without a coordinator that may be connected to: again after a pause."""
    c.lookup.in_progress = True
    if c.config.settings.is_classic and now >= c.lookup.round_ends:
        # The answer came after its round, in the first pause of a later one.
        length = _round_ms(c)
        c.lookup.failures, c.lookup.round_ends = 0, now + length - (now - c.lookup.round_ends) % length
    again = now + c.config.settings.backoff(c.lookup.failures)
    if c.config.settings.is_classic:
        again = min(again, c.lookup.round_ends) if _is_in_poll(c) else c.lookup.round_ends
    out.set_timer(states.LOOKUP, again)
    c.lookup.failures += 1


def retry(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.lookup.in_progress = False
    if c.lookup.awaiting_reconnect:
        c.lookup.coordinator, c.lookup.awaiting_reconnect = c.lookup.awaiting_reconnect, ""
    elif c.lookup.coordinator is None:
        look_up(c, now, out)


def _is_in_poll(c: ConsumerState) -> bool:
    return not (c.user.away or c.user.listener_call) and c.user.resume_at is None


def _round_ms(c: ConsumerState) -> int:
    settings = c.config.settings
    return settings.poll_timeout_ms if _is_in_poll(c) else 2 * settings.retry_backoff_ms
