"""The client's own states of membership (spec 4.2), as a table: state and event to the next state.

``join sent``: a JoinGroup is on its way; heartbeats stop. ``joined``: it was answered, the generation is known, the
SyncGroup is on its way; heartbeats begin. ``synced``: the assignment is there. ``failed``: the join or the sync was
refused or lost, the next try begins anew. ``reset``: the membership is over (fenced, unknown, left).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import networkx as nx

UNJOINED = "UNJOINED"
PREPARING_REBALANCE = "PREPARING_REBALANCE"
COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
STABLE = "STABLE"

STATES = (UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE)

TRANSITIONS: Final[Mapping[tuple[str, str], str]] = {
    (UNJOINED, "join sent"): PREPARING_REBALANCE,
    (STABLE, "join sent"): PREPARING_REBALANCE,
    (PREPARING_REBALANCE, "joined"): COMPLETING_REBALANCE,
    (PREPARING_REBALANCE, "failed"): UNJOINED,
    (COMPLETING_REBALANCE, "failed"): UNJOINED,
    (COMPLETING_REBALANCE, "synced"): STABLE,
    (UNJOINED, "reset"): UNJOINED,
    (PREPARING_REBALANCE, "reset"): UNJOINED,
    (COMPLETING_REBALANCE, "reset"): UNJOINED,
    (STABLE, "reset"): UNJOINED,
}

HEARTBEATS = frozenset({COMPLETING_REBALANCE, STABLE})
"""The states in which the client sends heartbeats."""


class IllegalTransitionError(RuntimeError):
    """The model is wrong: the table has no such edge."""


def after(state: str, event: str) -> str:
    """The next state. Raises `IllegalTransitionError`."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransitionError(f"a consumer in {state} cannot take {event!r}") from None


def graph() -> "nx.MultiDiGraph[str]":
    """The table as a graph: states as nodes, one edge per row with its ``event``."""
    import networkx as nx  # only who draws it waits for the import

    made: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    made.add_nodes_from(STATES)
    for (state, event), following in TRANSITIONS.items():
        made.add_edge(state, following, event=event)
    return made
