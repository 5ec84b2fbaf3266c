"""Lost connections: what becomes of the requests that were on their way (spec 4.7, disconnect).

In Kafka `NetworkClient.handleDisconnections` and `ConsumerNetworkClient.disconnectAsync`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_coordinator import messages
from kafka_coordinator.consumer import (
    commits,
    heartbeats,
    joining,
    leaving,
    lookup,
    metadata,
    positions,
    requests,
    states,
)
from kafka_coordinator.consumer.kip848 import heartbeats as kip848_heartbeats
from kafka_coordinator.consumer.kip848 import reconciliation
from kafka_coordinator.consumer.state import ConsumerState, InFlightRequest
from protocols.engine.nodes import Message, Outbox, Time


def lost(c: ConsumerState, now: Time, broker: str, out: Outbox) -> None:
    """The connection to this broker is gone, so its requests have failed."""
    if c.lookup.coordinator == broker:
        c.lookup.coordinator = None
    for each in requests.lost(c, broker):
        _FAILED[each.kind](c, now, each, out)


def refused(c: ConsumerState, now: Time, broker: str, out: Outbox) -> None:
    """The broker refused or ended the connection, or does not answer on it: another one is asked if there is one."""
    c.connections.refused(now, broker, c.config.settings)
    lost(c, now, broker, out)


def drop(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Close the connection to the former coordinator."""
    broker, c.connections.to_close = c.connections.to_close, ""
    out.close(broker)
    lost(c, now, broker, out)


def overdue(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Requests were not answered in time: their connections are given up."""
    for broker in requests.overdue(c, now, out):
        out.close(broker)
        refused(c, now, broker, out)


def commit_finished(c: ConsumerState, now: Time, about: commits.About, outcome: str, out: Outbox) -> None:
    """The outcome of a commit goes to what it was for: `commits.DONE`, `commits.RETRIABLE`, or why it failed."""
    if about.purpose == commits.PREPARE:
        (joining if c.kip848 is None else reconciliation).commit_finished(c, now, out, outcome)
    elif about.purpose == commits.USER:
        commits.finish_user_commit(c, now, out, outcome)
    elif about.purpose == commits.CLOSE:
        leaving.commit_finished(c, now, out, outcome)
    elif outcome == commits.RETRIABLE and c.subscription.owned:
        out.set_timer(states.AUTO_COMMIT, now + c.config.settings.retry_backoff_ms)


def _join_failed(c: ConsumerState, now: Time, each: InFlightRequest, out: Outbox) -> None:
    if not c.user.closing:
        joining.retry(c, now, out, joining.PAUSE)


def _commit_failed(c: ConsumerState, now: Time, each: InFlightRequest, out: Outbox) -> None:
    assert isinstance(each.about, commits.About)
    commit_finished(c, now, each.about, commits.RETRIABLE, out)


def _leave_failed(c: ConsumerState, now: Time, each: InFlightRequest, out: Outbox) -> None:
    if c.user.closing:
        leaving.finish(c, now, out)


def _consumer_heartbeat_failed(c: ConsumerState, now: Time, each: InFlightRequest, out: Outbox) -> None:
    is_last = each.about
    if not is_last:
        kip848_heartbeats.failed(c, now, out, pause=True)
    elif c.user.closing:
        leaving.finish(c, now, out)


_FAILED: Final[Mapping[type[Message], Callable[[ConsumerState, Time, InFlightRequest, Outbox], None]]] = {
    messages.FindCoordinator: lambda c, now, each, out: lookup.failed(c, now, out),
    messages.MetadataRequest: lambda c, now, each, out: metadata.failed(c, now, out),
    messages.JoinGroup: _join_failed,
    messages.SyncGroup: _join_failed,
    messages.Heartbeat: lambda c, now, each, out: heartbeats.failed(c, now, out),
    messages.OffsetCommit: _commit_failed,
    messages.OffsetFetch: lambda c, now, each, out: positions.failed(c, now, out),
    messages.LeaveGroup: _leave_failed,
    messages.ConsumerGroupHeartbeat: _consumer_heartbeat_failed,
}
