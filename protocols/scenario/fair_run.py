"""The fair run from a state of the explorer's world on: nothing is late any more, no event comes, timers fire in order.

Nodes move to a simulation, whose clock begins where all of theirs stand.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from protocols.engine.exploration import State, World
from protocols.engine.exploration.rules import FRESH
from protocols.engine.links import Latency
from protocols.engine.nodes import Time, Unobserved
from protocols.engine.process import Process
from protocols.engine.simulation import Simulation
from protocols.facts import Owns
from protocols.java import Queue

LASTS: Final[Time] = 900_000.0
"""So long the run goes on: longer than all timeouts of a rebalance after each other."""

QUIET: Final[Time] = 180_000.0
"""Who changes nothing for so long at its end has settled."""

LOOKS_EVERY: Final[Time] = 5_000.0

WITHOUT_END: Final = 100_000
"""So many messages and timers are without end: a small group has some thousands in that time."""


class FairEnd(NamedTuple):
    """What became of a group: whether it settled; member to queues."""

    settled: bool
    owned: dict[tuple[str, str], tuple[Queue, ...]]


class _Owners(Unobserved):
    def __init__(self, owned: dict[tuple[str, str], tuple[Queue, ...]]) -> None:
        self.owned = owned
        self.changed: Time | None = None

    def has_one_each(self, expected: Collection[tuple[str, Queue]]) -> bool:
        """Whether each of these (group, queue) has exactly one owner."""
        count: dict[tuple[str, Queue], int] = {}
        for (group, _), queues in self.owned.items():
            for queue in queues:
                count[group, queue] = count.get((group, queue), 0) + 1
        return all(count.get(each) == 1 for each in expected)

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        """See `protocols.engine.nodes.Observer`."""
        if isinstance(fact, Owns) and self.owned.get((fact.group, fact.member), ()) != fact.queues:
            self.owned[fact.group, fact.member] = fact.queues
            self.changed = now


def fair_run(
    world: World,
    state: State,
    owned: dict[tuple[str, str], tuple[Queue, ...]],
    expected: Collection[tuple[str, Queue]],
) -> FairEnd:
    """Run on from a quiet state (`World.is_quiet`), in which members own this.

    The run ends early where every (group, queue) of ``expected`` has had its one owner for long enough, and where it is
    without end or a node raises, which is no way to settle.
    """
    began = world.steps.now
    owners = _Owners(dict(owned))
    simulation = Simulation(seed=0, latency=Latency(1.0, 1.0), observer=owners)
    simulation.now = began
    for name in world.processes:
        living = world.steps.livings[world.run(state, name).living]
        if living is None:
            continue
        node = living.node.copy()
        numbering = world.steps.rules.numberings.get(type(node))
        if numbering is not None:
            numbering.restart(node, FRESH)
        process = simulation.processes[name] = Process(simulation, name, node)
        for prefix, count in living.ids:
            simulation.ids_given[name, prefix] = count
        for timer, due in living.timers:
            process.set_timer(timer, max(due, began))
    for at, (one, other) in enumerate(world.named_pairs):
        pair = world.pairs.values[state[1 + len(world.processes) + at]]
        if all(pair.is_open):
            simulation.join(one, other)
    while simulation.now < began + LASTS:
        try:
            simulation.run(simulation.now + LOOKS_EVERY)
        except AssertionError:
            return FairEnd(False, owners.owned)
        if simulation.number > WITHOUT_END:
            return FairEnd(False, owners.owned)
        is_quiet = simulation.now - (began if owners.changed is None else owners.changed) >= QUIET
        if is_quiet and owners.has_one_each(expected):
            break
    return FairEnd(is_quiet, owners.owned)
