"""From the member's assignment to its target (spec 6.7), one reconciliation at a time.

Reading of what will be revoked stops; offsets are committed, tried again until ``max.poll.interval.ms`` is over; the
listener hears of the revocation, then of the assignment, always, also of none; then the next heartbeat acknowledges.
A target that comes meanwhile is reconciled afterwards. Where the member was fenced or leaves meanwhile, nothing more
of it happens.

In Kafka `AbstractMembershipManager`: `processAssignmentReceived`, `maybeReconcile`, `revokeAndAssign`.
"""

from typing import Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import callbacks, commits, reading, states
from kafka_coordinator.consumer.kip848.states import RECONCILED, RECONCILING, TARGET_RECEIVED
from kafka_coordinator.consumer.state import ConsumerState, membership, protocol_member
from protocols.engine.nodes import Outbox, Time

REVOKED, ASSIGNED = "revoked by target", "assigned by target"
"""What follows when the listener has returned: the assignment, the acknowledgement."""

_STEP: Final = 5
"""Milliseconds between the lengths that a wait inside poll() may have."""


def received(c: ConsumerState, now: Time, partitions: tuple[Partition, ...], out: Outbox) -> None:
    """The coordinator gave the member this target (sorted)."""
    m = protocol_member(c)
    if m.target == membership.NO_ASSIGNMENT or m.target.partitions != partitions:
        m.target = membership.LocalAssignment(m.target.number + 1, partitions)
    if m.current != m.target:
        c.transition(TARGET_RECEIVED, out)
        m.waits_for_metadata = False
        _wait_inside_poll(c, now, out)


def _wait_inside_poll(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.config.poll_wait and not c.config.by_hand:
        m = protocol_member(c)
        m.at_records = True
        starts = m.current == membership.NO_ASSIGNMENT and c.config.first_wait
        waits = (c.config.first_wait,) if starts else tuple(range(0, c.config.poll_wait + 1, _STEP))
        out.set_timer(states.RECONCILE, now + out.choose("poll", waits))


def looks(c: ConsumerState) -> None:
    """The user's thread has waited for records, and looks at what is to be done."""
    protocol_member(c).at_records = False


def is_to_begin(c: ConsumerState) -> bool:
    """Whether a poll() begins to reconcile."""
    m = protocol_member(c)
    return (
        c.membership.state == RECONCILING
        and m.reconciliation is None
        and m.current != m.target
        and not m.waits_for_metadata
        and not m.at_records
    )


def begin(c: ConsumerState, now: Time, out: Outbox) -> None:
    """poll(): reconcile the part of the target whose topics the client knows."""
    m, owned = protocol_member(c), c.subscription.owned
    known = {*c.metadata.topics, *(topic for topic, _ in owned)}
    partitions = tuple([partition for partition in m.target.partitions if partition[0] in known])
    resolved = membership.LocalAssignment(m.target.number, partitions)
    if resolved != m.target:
        m.waits_for_metadata = True
        if not c.metadata.refreshing:
            out.set_timer(states.METADATA, now + c.config.settings.retry_backoff_ms)
    if m.current != membership.NO_ASSIGNMENT and partitions == m.current.partitions:
        if m.current != resolved:
            m.current = resolved
            c.transition(RECONCILED, out)
        return
    had, has = set(owned), set(partitions)
    revoked = tuple([each for each in owned if each not in has])
    added = tuple([partition for partition in partitions if partition not in had])
    deadline = now + c.config.settings.max_poll_interval_ms
    m.reconciliation = membership.Reconciliation(membership.COMMITTING, resolved, revoked, added, deadline)
    if revoked:
        reading.advance(c, now, out)
        c.subscription.pending_revocation = reading.unsubscribed(c).union(revoked)
        reading.resume(c, now, out)
    commit(c, now, out)


def commit(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Commit all positions, first or again."""
    under_way = protocol_member(c).reconciliation
    if under_way is None or under_way.step != membership.COMMITTING:
        return
    if c.config.settings.enable_auto_commit:
        offsets = commits.positions(c, now, out)
        if offsets:
            outcome = commits.send(c, now, out, commits.PREPARE, offsets)
            if outcome:
                commit_finished(c, now, out, outcome)
            return
    _go_on(under_way)


def commit_finished(c: ConsumerState, now: Time, out: Outbox, outcome: str) -> None:
    """The commit is done, may be tried again, or failed: a failure does not stop the reconciliation."""
    under_way = protocol_member(c).reconciliation
    if under_way is None or under_way.step != membership.COMMITTING or _is_over(c):
        return
    again_at = now + c.config.settings.retry_backoff_ms
    if outcome == commits.RETRIABLE and again_at < under_way.deadline:
        out.set_timer(states.REJOIN, again_at)
    else:
        _go_on(under_way)
        _wait_inside_poll(c, now, out)


def _go_on(under_way: membership.Reconciliation) -> None:
    under_way.step = membership.REVOKING if under_way.revoked else membership.ASSIGNING


def has_step(c: ConsumerState) -> bool:
    """Whether the user's thread has a listener to call."""
    m = protocol_member(c)
    return m.reconciliation is not None and m.reconciliation.step != membership.COMMITTING and not m.at_records


def step(c: ConsumerState, now: Time, out: Outbox) -> None:
    """poll(): call the listener."""
    under_way = protocol_member(c).reconciliation
    if under_way is None or _is_over(c):
        return
    if under_way.step == membership.REVOKING:
        reading.advance(c, now, out)
        if not callbacks.invoke(c, now, callbacks.REVOKED, under_way.revoked, out, REVOKED):
            revoked(c, now, out)
        return
    callbacks.set_owned(c, now, under_way.resolved.partitions, out)
    c.subscription.pending_revocation = reading.unsubscribed(c)
    if not callbacks.invoke(c, now, callbacks.ASSIGNED, under_way.added, out, ASSIGNED):
        assigned(c, now, out)


def revoked(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The listener has returned from the revocation."""
    under_way = protocol_member(c).reconciliation
    if under_way is not None and not _is_over(c):
        under_way.step = membership.ASSIGNING
        _wait_inside_poll(c, now, out)


def assigned(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The listener has returned from the assignment: the next heartbeat says what is owned."""
    m = protocol_member(c)
    under_way = m.reconciliation
    if under_way is None or _is_over(c):
        return
    m.reconciliation = None
    m.current = under_way.resolved
    c.commits.auto_due = False
    if c.config.settings.enable_auto_commit and c.subscription.owned:
        out.set_timer(states.AUTO_COMMIT, now + c.config.settings.auto_commit_interval_ms)
    else:
        out.cancel_timer(states.AUTO_COMMIT)
    c.transition(RECONCILED, out)
    _wait_inside_poll(c, now, out)


def _is_over(c: ConsumerState) -> bool:
    """Whether the reconciliation is not relevant any more, because the member was fenced, leaves or joined anew."""
    m = protocol_member(c)
    under_way = m.reconciliation
    over = c.membership.state != RECONCILING or (under_way is not None and under_way.outdated)
    if over:
        m.reconciliation = None
    return over
