"""The state machine of a classic group, as data (spec 2.2, 2.3).

A group collects JoinGroup requests in *PreparingRebalance*; when all have come, or time is up, it answers them and
waits in *CompletingRebalance* (older texts, Kafka's own among them, call it *AwaitingSync*) for the leader's SyncGroup
with the assignment, which makes it *Stable*. A group without members is *Empty*. *Dead* it is where this broker no
longer coordinates it, or where it was deleted.

Whatever may change a group's state is an event, and every event that comes takes an edge: some lead back to the state
that they left, because the guard said so. What is answered without touching the group at all (a heartbeat, an error,
a fetch) is no event. Where the same event may end in several states, the guard tells them apart.

In Kafka `ClassicGroupState` and `ClassicGroup.transitionTo`; before 4.0 `GroupState`.
"""

from protocols.state_machine import ALWAYS, Edge, StateMachine

EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"
ABSENT = "(none)"
"""Not a state: there is no such group. The first edge of every group leaves from here."""

GENERATION = "generation"
"""What facts call the number of a group's generation."""

CREATED = "group created"
LOADED = "loaded from the log"
ID_HANDED_OUT = "member id handed out"
MEMBER_ADDED = "member added"
MEMBER_REJOINED = "member rejoined"
STATIC_REPLACED = "static member replaced"
MEMBER_LEFT = "member left"
SESSION_EXPIRED = "session timed out"
PENDING_EXPIRED = "pending id timed out"
JOIN_ENDED = "join phase ended"
MEMBER_SYNCED = "member synced"
LEADER_SYNCED = "leader synced"
SYNC_EXPIRED = "sync timed out"
TOO_LARGE = "larger than allowed"
UNLOADED = "unloaded"
DELETED = "deleted"
EXPIRED = "offsets expired"
CONVERTED = "made of a group of the consumer protocol"
DOWNGRADED = "downgraded from the consumer protocol"
UPGRADED = "upgraded to the consumer protocol"
REPLACED = "replaced by a group of the consumer protocol"

WITH_MEMBERS = "with members"
WITHOUT_MEMBERS = "without members"
ONLY_ABSENT = "only absent static members"
SAME_PROTOCOLS = "same protocols"
OTHER_PROTOCOLS = "other protocols"
SAME_FOLLOWER = "follower, same protocols"
LEADER_OR_OTHER = "leader, or other protocols"
SAME_VOTE = "same protocol voted"
OTHER_VOTE = "other protocol voted"


GROUP = StateMachine(
    "group",
    (ABSENT, EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD),
    (
        Edge(ABSENT, CREATED, ALWAYS, EMPTY),
        Edge(ABSENT, LOADED, WITHOUT_MEMBERS, EMPTY),
        Edge(ABSENT, LOADED, WITH_MEMBERS, STABLE),
        Edge(ABSENT, CONVERTED, ALWAYS, STABLE),
        Edge(EMPTY, ID_HANDED_OUT, ALWAYS, EMPTY),
        Edge(EMPTY, MEMBER_ADDED, ALWAYS, PREPARING_REBALANCE),
        Edge(EMPTY, MEMBER_LEFT, ALWAYS, EMPTY),
        Edge(EMPTY, PENDING_EXPIRED, ALWAYS, EMPTY),
        Edge(EMPTY, UNLOADED, ALWAYS, DEAD),
        Edge(EMPTY, DELETED, ALWAYS, DEAD),
        Edge(EMPTY, EXPIRED, ALWAYS, DEAD),
        Edge(EMPTY, REPLACED, ALWAYS, DEAD),
        Edge(PREPARING_REBALANCE, ID_HANDED_OUT, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, MEMBER_ADDED, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, MEMBER_REJOINED, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, STATIC_REPLACED, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, MEMBER_LEFT, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, SESSION_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, PENDING_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, JOIN_ENDED, WITH_MEMBERS, COMPLETING_REBALANCE),
        Edge(PREPARING_REBALANCE, JOIN_ENDED, WITHOUT_MEMBERS, EMPTY),
        Edge(PREPARING_REBALANCE, JOIN_ENDED, ONLY_ABSENT, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, UPGRADED, ALWAYS, DEAD),
        Edge(PREPARING_REBALANCE, UNLOADED, ALWAYS, DEAD),
        Edge(COMPLETING_REBALANCE, ID_HANDED_OUT, ALWAYS, COMPLETING_REBALANCE),
        Edge(COMPLETING_REBALANCE, MEMBER_ADDED, ALWAYS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, MEMBER_REJOINED, SAME_PROTOCOLS, COMPLETING_REBALANCE),
        Edge(COMPLETING_REBALANCE, MEMBER_REJOINED, OTHER_PROTOCOLS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, STATIC_REPLACED, ALWAYS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, MEMBER_LEFT, ALWAYS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, SESSION_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, PENDING_EXPIRED, ALWAYS, COMPLETING_REBALANCE),
        Edge(COMPLETING_REBALANCE, MEMBER_SYNCED, ALWAYS, COMPLETING_REBALANCE),
        Edge(COMPLETING_REBALANCE, LEADER_SYNCED, ALWAYS, STABLE),
        Edge(COMPLETING_REBALANCE, SYNC_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(COMPLETING_REBALANCE, UPGRADED, ALWAYS, DEAD),
        Edge(COMPLETING_REBALANCE, UNLOADED, ALWAYS, DEAD),
        Edge(STABLE, ID_HANDED_OUT, ALWAYS, STABLE),
        Edge(STABLE, MEMBER_ADDED, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, MEMBER_REJOINED, SAME_FOLLOWER, STABLE),
        Edge(STABLE, MEMBER_REJOINED, LEADER_OR_OTHER, PREPARING_REBALANCE),
        Edge(STABLE, STATIC_REPLACED, SAME_VOTE, STABLE),
        Edge(STABLE, STATIC_REPLACED, OTHER_VOTE, PREPARING_REBALANCE),
        Edge(STABLE, MEMBER_LEFT, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, SESSION_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, PENDING_EXPIRED, ALWAYS, STABLE),
        Edge(STABLE, MEMBER_SYNCED, ALWAYS, STABLE),
        Edge(STABLE, SYNC_EXPIRED, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, TOO_LARGE, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, DOWNGRADED, ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, UPGRADED, ALWAYS, DEAD),
        Edge(STABLE, UNLOADED, ALWAYS, DEAD),
    ),
    older_names={COMPLETING_REBALANCE: "AwaitingSync"},  # before Kafka 1.1
    meanings={
        EMPTY: "the group has no members, perhaps still offsets",
        PREPARING_REBALANCE: "the coordinator waits until all members have joined again",
        COMPLETING_REBALANCE: "the coordinator waits for the leader's assignment",
        STABLE: "every member has its share",
        DEAD: "the group was deleted, or another broker coordinates it",
    },
)
"""The table. The code runs from it, `equipoise states kafka` draws it, the tests walk every edge."""
