"""The state machine of a share group, as data (spec share 2.1): it has members or not. That members are behind their
target no state tells.

In Kafka `ShareGroup.ShareGroupState`.
"""

from typing import Final

from protocols.state_machine import ALWAYS, Edge, StateMachine

ABSENT: Final = "(none)"
EMPTY: Final = "Empty"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

MEMBER_JOINED: Final = "member joined"
MEMBER_LEFT: Final = "member left"
SESSION_EXPIRED: Final = "session timed out"
OFFSETS_ALTERED: Final = "offsets altered"
LOADED: Final = "loaded from the log"
UNLOADED: Final = "unloaded"
DELETED: Final = "deleted"

GUARDS: Final = {EMPTY: "no members left", STABLE: "with members"}
"""State to the condition that makes it so."""

GROUP: Final = StateMachine(
    "share group",
    (ABSENT, EMPTY, STABLE, DEAD),
    (
        Edge(ABSENT, MEMBER_JOINED, GUARDS[STABLE], STABLE),
        Edge(ABSENT, OFFSETS_ALTERED, GUARDS[EMPTY], EMPTY),
        Edge(ABSENT, LOADED, GUARDS[EMPTY], EMPTY),
        Edge(ABSENT, LOADED, GUARDS[STABLE], STABLE),
        Edge(EMPTY, MEMBER_JOINED, GUARDS[STABLE], STABLE),
        Edge(EMPTY, UNLOADED, ALWAYS, DEAD),
        Edge(EMPTY, DELETED, ALWAYS, DEAD),
        Edge(STABLE, MEMBER_JOINED, GUARDS[STABLE], STABLE),
        Edge(STABLE, MEMBER_LEFT, GUARDS[STABLE], STABLE),
        Edge(STABLE, MEMBER_LEFT, GUARDS[EMPTY], EMPTY),
        Edge(STABLE, SESSION_EXPIRED, GUARDS[STABLE], STABLE),
        Edge(STABLE, SESSION_EXPIRED, GUARDS[EMPTY], EMPTY),
        Edge(STABLE, UNLOADED, ALWAYS, DEAD),
    ),
    meanings={
        EMPTY: "the group has no members, and stays until somebody deletes it",
        STABLE: "the group has members, wherever they stand",
        DEAD: "the group was deleted, or another broker coordinates it",
    },
)
"""The table of a group. The code runs from it, `equipoise states kafka` draws it."""
