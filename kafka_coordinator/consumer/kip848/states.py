"""The states of a member under the consumer protocol (spec 6.7), as a table: state and event to the next state.

A member that is *JOINING* sends epoch 0 and all that it is. *RECONCILING*: the coordinator gave it another target,
which it moves to: commit, revocation, assignment, and then *ACKNOWLEDGING*, until the heartbeat is sent that says what
it owns now. *STABLE*: target and possession are one. *FENCED*: the coordinator does not know the member, or knows a
newer epoch; all is lost, then it joins anew. *PREPARE_LEAVING*: what it owns is given up; *LEAVING*: the last heartbeat
is due. *STALE*: it left because its user did not poll, and joins anew when he does. *FATAL*: poll() throws.

In Kafka `MemberState` and `AbstractMembershipManager.transitionTo`. Kafka's client names no events, and a fenced member
that prepares to leave passes *LEAVING* for an instant there.
"""

from protocols.state_machine import ALWAYS, Edge, StateMachine

UNSUBSCRIBED = "UNSUBSCRIBED"
JOINING = "JOINING"
RECONCILING = "RECONCILING"
ACKNOWLEDGING = "ACKNOWLEDGING"
STABLE = "STABLE"
FENCED = "FENCED"
PREPARE_LEAVING = "PREPARE_LEAVING"
LEAVING = "LEAVING"
STALE = "STALE"
FATAL = "FATAL"

JOINS = "joins"
TARGET_RECEIVED = "target received"
RECONCILED = "reconciled"
HEARTBEAT_SENT = "heartbeat sent"
FENCED_BY_ANSWER = "fenced"
LEAVES = "leaves"
RELEASED = "assignment released"
POLL_EXPIRED = "poll timer expired"
LEAVE_SENT = "leave sent"
LEAVE_SKIPPED = "coordinator unknown"
REFUSED = "refused"

TARGET_REACHED = "target reached"
NEWER_TARGET = "newer target"
ON_PURPOSE = "closes or unsubscribes"
DOES_NOT_POLL = "user does not poll"

_MEMBERS = (JOINING, RECONCILING, ACKNOWLEDGING, STABLE)
"""States of a member in the group, or on its way into it."""

CONSUMER_PROTOCOL = StateMachine(
    "consumer protocol",
    (*(UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE), *(FENCED, PREPARE_LEAVING, LEAVING, STALE, FATAL)),
    (
        Edge(UNSUBSCRIBED, JOINS, ALWAYS, JOINING),
        Edge(FENCED, JOINS, ALWAYS, JOINING),
        Edge(STALE, JOINS, ALWAYS, JOINING),
        *[Edge(state, TARGET_RECEIVED, ALWAYS, RECONCILING) for state in _MEMBERS],
        Edge(RECONCILING, RECONCILED, ALWAYS, ACKNOWLEDGING),
        Edge(ACKNOWLEDGING, HEARTBEAT_SENT, TARGET_REACHED, STABLE),
        Edge(ACKNOWLEDGING, HEARTBEAT_SENT, NEWER_TARGET, RECONCILING),
        *[Edge(state, FENCED_BY_ANSWER, ALWAYS, FENCED) for state in _MEMBERS],
        Edge(PREPARE_LEAVING, FENCED_BY_ANSWER, ALWAYS, UNSUBSCRIBED),
        *[Edge(state, LEAVES, ALWAYS, PREPARE_LEAVING) for state in _MEMBERS],
        Edge(FENCED, LEAVES, ALWAYS, UNSUBSCRIBED),
        Edge(STALE, LEAVES, ALWAYS, UNSUBSCRIBED),
        Edge(PREPARE_LEAVING, RELEASED, ALWAYS, LEAVING),
        *[Edge(state, POLL_EXPIRED, ALWAYS, LEAVING) for state in _MEMBERS],
        Edge(LEAVING, LEAVE_SENT, ON_PURPOSE, UNSUBSCRIBED),
        Edge(LEAVING, LEAVE_SENT, DOES_NOT_POLL, STALE),
        Edge(LEAVING, LEAVE_SKIPPED, ALWAYS, UNSUBSCRIBED),
        *[Edge(state, REFUSED, ALWAYS, FATAL) for state in (*_MEMBERS, PREPARE_LEAVING)],
    ),
    meanings={
        UNSUBSCRIBED: "the member is in no group",
        JOINING: "the member sends epoch 0 and all that it is, and waits for a target",
        RECONCILING: "the member moves to its target: it commits, gives partitions up and takes others",
        ACKNOWLEDGING: "the member is about to tell the coordinator what it owns now",
        STABLE: "the member owns its target",
        FENCED: "the coordinator does not know the member, or knows a newer epoch; all its partitions are lost",
        PREPARE_LEAVING: "the member gives up what it owns before it leaves",
        LEAVING: "the member sends its last heartbeat",
        STALE: "the member has left because its user did not call poll() in time, and joins again with the next call",
        FATAL: "the coordinator has refused the member for good; poll() throws",
    },
)
"""The table. The code runs from it, `equipoise states kafka --machine 'consumer protocol'` draws it."""

IN_GROUP = frozenset(_MEMBERS)
HEARTBEATS = frozenset({*_MEMBERS, PREPARE_LEAVING})
"""The states in which the client sends heartbeats at the interval."""
AT_ONCE = frozenset({JOINING, ACKNOWLEDGING})
"""The states in which it does not wait for the interval; the heartbeat of *LEAVING* is sent where that is entered."""
