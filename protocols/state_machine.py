"""A state machine is a table: (state, event, guard) to the next state.

The systems' state machines are instances of `StateMachine`. The code takes its steps with `StateMachine.next_state`;
`equipoise states` draws `StateMachine.graph`, a networkx graph. Both are made from the same edges, so that a drawing
cannot differ from what runs.

An event that may end in several states has one edge for each, told apart by guards. A step that the table lacks is a
mistake in the model, never in the input: `IllegalTransition`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import networkx

ALWAYS: Final = ""
"""The guard of an edge that is taken whenever its event happens."""

BEGINNING: Final = "(none)"
"""Not a state: there is no such thing yet."""


class Edge(NamedTuple):
    """In state ``before``, the event leads to ``after`` where the guard holds (`ALWAYS`: there is none)."""

    before: str
    event: str
    guard: str
    after: str

    @property
    def label(self) -> str:
        return f"{self.event} [{self.guard}]" if self.guard else self.event


class IllegalTransition(AssertionError):  # noqa: N818 - what happened, in the field's own words
    """The model took a step that the table does not have: a mistake of the model."""


class StateMachine:
    """A named table of edges that checks itself when it is made; it does not change afterwards.

    ``states``: all states in the order of a life, which is the order of the drawings. ``older_names``: state to what
    earlier releases called it. ``meanings``: what is going on in each state, a clause with a subject of its own ("the
    coordinator waits for ..."); given for all states but ``(none)``, or for none. Raises `ValueError` for an edge from
    or to an unknown state, for two edges with the same state, event and guard, for an event that has an edge without
    guard beside guarded ones, and for states without meaning beside others that have one.
    """

    def __init__(
        self,
        name: str,
        states: Sequence[str],
        edges: Sequence[Edge],
        older_names: Mapping[str, str] | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.states = tuple(states)
        self.edges = tuple(edges)
        self.older_names = dict(older_names or {})
        self.meanings = dict(meanings or {})
        self._next = {edge[:3]: edge.after for edge in self.edges}
        self._graph: networkx.MultiDiGraph[str] | None = None
        self._check()

    def next_state(self, before: str, event: str, guard: str = ALWAYS) -> str:
        """Where the event leads; `IllegalTransition` where the table has no such edge."""
        after = self._next.get((before, event, guard))
        if after is None:
            condition = f" ({guard})" if guard else ""
            raise IllegalTransition(f"a {self.name} in {before} has no edge for {event!r}{condition}")
        return after

    def graph(self) -> "networkx.MultiDiGraph[str]":
        """The table as a graph: states are nodes in their order, with ``older_name`` (None where there is none); each
        edge has ``event`` and ``guard``. The same object at every call; do not change it.

        networkx is imported when this is first called, so that a simulation does not wait for it.
        """
        if self._graph is None:
            import networkx

            self._graph = networkx.MultiDiGraph()
            for state in self.states:
                self._graph.add_node(state, older_name=self.older_names.get(state))
            for before, event, guard, after in self.edges:
                self._graph.add_edge(before, after, key=f"{event}/{guard}", event=event, guard=guard)
        return self._graph

    def _check(self) -> None:
        unknown = {state for edge in self.edges for state in (edge.before, edge.after)} - set(self.states)
        if unknown:
            raise ValueError(f"{self.name}: edges name {sorted(unknown)}, expected states out of {self.states}")
        if self.meanings and set(self.meanings) != set(self.states) - {BEGINNING}:
            raise ValueError(f"{self.name}: meanings of {sorted(self.meanings)}, expected of all of {self.states}")
        if len(self._next) < len(self.edges):
            raise ValueError(f"{self.name}: two edges have the same state, event and guard, expected one")
        guards: dict[tuple[str, str], set[str]] = {}
        for edge in self.edges:
            guards.setdefault((edge.before, edge.event), set()).add(edge.guard)
        for (before, event), named in guards.items():
            if ALWAYS in named and len(named) > 1:
                raise ValueError(
                    f"{self.name}: {event!r} in {before} has edges with and without guard, expected guards"
                )
