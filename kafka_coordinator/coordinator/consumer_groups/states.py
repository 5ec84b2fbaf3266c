"""The state machines of a group of the consumer protocol and of its members, as data (spec 6.1, 6.4).

A group's state follows from its epochs and members: it is *Empty* without members, *Assigning* while its target
assignment is older than its epoch, *Reconciling* while a member has not reached the target, else *Stable*. *Dead* it is
where this broker no longer coordinates it, or where it was deleted or became a classic group. What happened is the
event; the condition that the group is in afterwards is the guard. A heartbeat that changes nothing is no event.

A member is *Stable* at its epoch; it has *Unrevoked partitions* while it must give some up, and *Unreleased partitions*
while it waits for others to do so.

In Kafka `ConsumerGroup.ConsumerGroupState` and `MemberState`.
"""

from collections.abc import Iterator
from typing import Final

from protocols.state_machine import ALWAYS, Edge, StateMachine

ABSENT: Final = "(none)"
"""Not a state: there is no such group, or member. The first edge leaves from here."""
EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

MEMBER_JOINED: Final = "member joined"
MEMBER_RECONCILED: Final = "member reconciled"
LEFT_FOR_A_WHILE: Final = "static member left for a while"
MEMBER_LEFT: Final = "member left"
SESSION_EXPIRED: Final = "session timed out"
REVOCATION_EXPIRED: Final = "rebalance timed out"
REJOIN_EXPIRED: Final = "join timed out"
SYNC_EXPIRED: Final = "sync timed out"
PATTERNS_RESOLVED: Final = "patterns resolved"
UPGRADED: Final = "upgraded from a classic group"
DOWNGRADED: Final = "downgraded to a classic group"
REPLACED_BY_CLASSIC: Final = "replaced by a classic group"
LOADED: Final = "loaded from the log"
UNLOADED: Final = "unloaded"
DELETED: Final = "deleted"
EXPIRED: Final = "offsets expired"

GUARDS: Final = {
    EMPTY: "no members left",
    ASSIGNING: "target outdated",
    RECONCILING: "members on their way",
    STABLE: "all members at the target",
}
"""State to the condition that makes it so."""


def _ending(before: str, event: str, *states: str) -> Iterator[Edge]:
    for after in states:
        yield Edge(before, event, GUARDS[after], after)


def _edges() -> Iterator[Edge]:
    yield from _ending(ABSENT, MEMBER_JOINED, STABLE)
    yield from _ending(ABSENT, UPGRADED, STABLE)
    yield from _ending(ABSENT, LOADED, EMPTY, ASSIGNING, RECONCILING, STABLE)
    yield from _ending(EMPTY, MEMBER_JOINED, ASSIGNING, STABLE)
    yield Edge(EMPTY, REPLACED_BY_CLASSIC, ALWAYS, DEAD)
    yield Edge(EMPTY, DELETED, ALWAYS, DEAD)
    yield Edge(EMPTY, EXPIRED, ALWAYS, DEAD)
    yield Edge(EMPTY, UNLOADED, ALWAYS, DEAD)
    for before in (ASSIGNING, RECONCILING, STABLE):
        yield from _ending(before, MEMBER_JOINED, ASSIGNING, RECONCILING, STABLE)
        yield from _ending(before, MEMBER_RECONCILED, ASSIGNING, RECONCILING, STABLE)
        yield from _ending(before, LEFT_FOR_A_WHILE, ASSIGNING if before == ASSIGNING else RECONCILING)
        yield from _ending(before, MEMBER_LEFT, EMPTY, ASSIGNING)
        yield from _ending(before, SESSION_EXPIRED, EMPTY, ASSIGNING)
        if before != STABLE:
            yield from _ending(before, REVOCATION_EXPIRED, EMPTY, ASSIGNING)
        yield from _ending(before, REJOIN_EXPIRED, EMPTY, ASSIGNING)
        yield from _ending(before, SYNC_EXPIRED, EMPTY, ASSIGNING)
        yield from _ending(before, PATTERNS_RESOLVED, ASSIGNING)
        yield Edge(before, DOWNGRADED, ALWAYS, DEAD)
        yield Edge(before, UNLOADED, ALWAYS, DEAD)


GROUP: Final = StateMachine(
    "consumer group",
    (ABSENT, EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD),
    tuple(_edges()),
    meanings={
        EMPTY: "the group has no members, perhaps still offsets",
        ASSIGNING: "the target is older than the group; the next heartbeat has a new one computed",
        RECONCILING: "members move to their targets, each with its own heartbeats",
        STABLE: "every member has its target",
        DEAD: "the group was deleted, or another broker coordinates it",
    },
)
"""The table of a group. The code runs from it, `equipoise states kafka` draws it, the tests walk every edge."""

GROUP_EPOCH: Final = "group epoch"
ASSIGNMENT_EPOCH: Final = "assignment epoch"
MEMBER_EPOCH: Final = "member epoch"
"""What facts call the epochs of a group and of its members."""

M_STABLE: Final = "Stable"
UNREVOKED: Final = "Unrevoked partitions"
UNRELEASED: Final = "Unreleased partitions"
REMOVED: Final = "Removed"

NEW: Final = "joined"
TAKEN_OVER: Final = "takes over a static member's place"
RECONCILED: Final = "reconciled"
AWAY: Final = "left for a while"
LEFT: Final = "removed"

_MEMBER_GUARDS: Final = {
    M_STABLE: "has its target",
    UNREVOKED: "must give partitions up",
    UNRELEASED: "waits for others",
}


def member_guard(after: str) -> str:
    """The condition that puts a member into the state."""
    return _MEMBER_GUARDS[after]


def _member_edges() -> Iterator[Edge]:
    yield Edge(ABSENT, NEW, ALWAYS, M_STABLE)
    for state in (M_STABLE, UNREVOKED, UNRELEASED):
        yield Edge(ABSENT, TAKEN_OVER, member_guard(state), state)
        yield Edge(ABSENT, LOADED, member_guard(state), state)
    yield Edge(ABSENT, UPGRADED, ALWAYS, M_STABLE)
    for before in (M_STABLE, UNREVOKED, UNRELEASED):
        for after in (M_STABLE, UNREVOKED, UNRELEASED):
            yield Edge(before, RECONCILED, member_guard(after), after)
        yield Edge(before, AWAY, ALWAYS, before)
        yield Edge(before, LEFT, ALWAYS, REMOVED)


MEMBER: Final = StateMachine(
    "consumer group member",
    (ABSENT, M_STABLE, UNREVOKED, UNRELEASED, REMOVED),
    tuple(_member_edges()),
    meanings={
        M_STABLE: "the member has its target",
        UNREVOKED: "the member has yet to say that it has given partitions up",
        UNRELEASED: "the member waits for partitions that others have yet to give up",
        REMOVED: "the member is no longer in the group",
    },
)
"""The table of a member."""
