"""A scenario's system in the explorer's world: the settled group before the first event, how events happen there, and
the fair run from a state on, in which nothing is late any more, no event comes and timers fire in order.

The group settles in the simulation, without events and without skipping; then nodes, timers and connections move over
to `protocols.engine.exploration`. Each event is applied by the system's own cluster, to which a stand-in looks like the
simulation. For the fair run nodes move back to a simulation, whose clock begins where all of theirs stand.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from protocols.engine.exploration.rules import FRESH, NodeRules, Watch
from protocols.engine.exploration.states import Bounds, Pair, Progress, Run, State
from protocols.engine.exploration.steps import Steps
from protocols.engine.exploration.world import World
from protocols.engine.links import Latency, Link
from protocols.engine.nodes import Time, Unobserved
from protocols.engine.process import Process
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.facts import Ended, Granted, Owns
from protocols.java import Queue
from protocols.node_state import NodeState
from protocols.scenario.cluster_states import Cluster, MakeCluster
from protocols.scenario.events import Reset
from protocols.scenario.exploring_events import Happening, Stage
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.topology import ADMIN

BEGAN: Final[Time] = float(1 << 26)
"""When the group starts, in milliseconds: later than any duration in a node is long."""

LOOKS_EVERY: Final[Time] = 1000.0
QUIET_FOR: Final[Time] = 90_000.0
"""Nobody's queues have changed for so long: the group has settled."""
LONGEST: Final[Time] = 900_000.0


class Settled(NamedTuple):
    """A world, its first state, and what the nodes had told (node, fact) until then."""

    world: World
    first: State
    facts: tuple[tuple[str, tuple[object, ...]], ...]


class _Told(Unobserved):
    """When ownership changed last, and all facts so far."""

    def __init__(self) -> None:
        self.changed: Time = 0.0
        self.facts: list[tuple[str, tuple[object, ...]]] = []

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self.facts.append((node, fact))
        if isinstance(fact, Owns | Granted):
            self.changed = now


def explored(
    scenario: Scenario,
    system: SystemPart,
    make: MakeCluster,
    rules: NodeRules,
    watches: Sequence[Watch],
    bounds: Bounds = Bounds(),  # noqa: B008 - immutable
) -> "Settled":
    """The world of this scenario for this system, and its first state: the settled group before the first event.

    Raises `UserError` for a group that does not settle.
    """
    told = _Told()
    simulation = Simulation(seed=scenario.run.seed, latency=Latency(*scenario.run.latency), observer=told)
    simulation.now = BEGAN
    cluster = make(scenario, system, simulation)
    cluster.start()
    _settle(simulation, told)
    steps = Steps(rules, simulation.now, scenario.run.seed)
    stage = Stage(simulation.now)
    happening = Happening(scenario.events, cluster, simulation, stage)
    processes = _processes(simulation, cluster)
    world = World(steps, processes, _pairs(processes, cluster), watches, happening, bounds, cluster.topology.members)
    return Settled(world, _first(world, simulation, told), tuple(told.facts))


def _settle(simulation: Simulation, told: _Told) -> None:
    """Run until nothing has changed for a while and no message is on its way."""
    while simulation.now - max(told.changed, BEGAN) < QUIET_FOR:
        simulation.run(simulation.now + LOOKS_EVERY)
        if simulation.now > BEGAN + LONGEST:
            raise UserError("the group does not settle before the first event, which the explorer begins with")
    for _ in range(100_000):
        if all(type(place) is not Link and not _is_passage(place) for _, _, _, _, place, _ in simulation.heap):
            return
        simulation.run(simulation.now + 1.0)
    raise UserError("messages are always on their way before the first event: shorter latencies are expected")


def _is_passage(place: object) -> bool:
    return type(place).__name__ == "Happening"


def _processes(simulation: Simulation, cluster: Cluster) -> tuple[str, ...]:
    """All that run, the members that come later, and the administrator, if something is for him to do."""
    resets = any(isinstance(event, Reset) for event in cluster.scenario.events)
    return tuple(dict.fromkeys([*simulation.processes, *cluster.topology.members, *([ADMIN] if resets else [])]))


def _pairs(processes: Sequence[str], cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Servers among each other, and each member and the administrator with each server."""
    members = {*cluster.topology.members, ADMIN}
    servers = [name for name in processes if name not in members]
    among = [(one, other) for at, one in enumerate(servers) for other in servers[at + 1 :]]
    return (*among, *((name, server) for name in processes if name in members for server in servers))


def _first(world: World, simulation: Simulation, told: _Told) -> State:
    facts: dict[str, list[tuple[object, ...]]] = {}
    for name, fact in told.facts:
        facts.setdefault(name, []).append(fact)
    ids: dict[str, dict[str, int]] = {}
    for (name, prefix), count in simulation.ids_given.items():
        ids.setdefault(name, {})[prefix] = count
    state = [0] * world.width
    state[0] = world.progress.number(Progress(0))
    for name, process in simulation.processes.items():
        timers = {key: entry[0] for key, entry in process.timers.items()}
        assert isinstance(process.node, NodeState), f"{name}: nodes that are explored can be copied"
        node = process.node.copy()
        prepare = world.steps.rules.adopt.get(type(node))
        if prepare is not None:
            prepare(node)
        given = ids.get(name, {})
        living = world.steps.adopt(node, timers, given)
        remembered = world.remember((), facts.get(name, ()))
        run = Run(living, world.firings_of(node), False, (), 1, tuple(sorted(given.items())), remembered)
        state[world.column[name]] = world.runs.number(run)
    for one, other in world.named_pairs:
        first, second = simulation.processes.get(one), simulation.processes.get(other)
        is_open = first is not None and other in first.links, second is not None and one in second.links
        state[world.pair_column[one, other][0]] = world.pairs.number(Pair(is_open, ((), ())))
    return tuple(state)


LASTS: Final[Time] = 900_000.0
"""So long the run goes on: longer than all timeouts of a rebalance after each other."""

QUIET: Final[Time] = 180_000.0
"""Who changes nothing for so long at its end has settled."""

FAIR_LOOKS_EVERY: Final[Time] = 5_000.0

WITHOUT_END: Final = 100_000
"""So many messages and timers are without end: a small group has some thousands in that time."""


class FairEnd(NamedTuple):
    """What became of the groups: whether they settled; (group, member) to the queues that it owns; group to member to
    those that the strategy gives it (see `NodeRules.shares`)."""

    settled: bool
    owned: dict[tuple[str, str], tuple[Queue, ...]]
    shares: Mapping[str, Mapping[str, tuple[Queue, ...]]] = MappingProxyType({})
    ended: frozenset[tuple[str, Queue, int]] = frozenset()
    """Group, queue and offset of the records that ended, where they are given out one by one."""


class _Owners(Unobserved):
    def __init__(self, owned: dict[tuple[str, str], tuple[Queue, ...]]) -> None:
        self.owned = owned
        self.changed: Time | None = None
        self.ended: set[tuple[str, Queue, int]] = set()

    def has_one_each(self, expected: Collection[tuple[str, Queue]]) -> bool:
        """Whether each of these (group, queue) has exactly one owner."""
        count: dict[tuple[str, Queue], int] = {}
        for (group, _), queues in self.owned.items():
            for queue in queues:
                count[group, queue] = count.get((group, queue), 0) + 1
        return all(count.get(each) == 1 for each in expected)

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if isinstance(fact, Owns) and self.owned.get((fact.group, fact.member), ()) != fact.queues:
            self.owned[fact.group, fact.member] = fact.queues
            self.changed = now
        elif isinstance(fact, Ended):
            self.ended.update((fact.group, fact.queue, offset) for offset in range(fact.first, fact.end))


def fair_run(
    world: World, state: State, owned: dict[tuple[str, str], tuple[Queue, ...]], expected: Collection[tuple[str, Queue]]
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
            simulation.run(simulation.now + FAIR_LOOKS_EVERY)
        except AssertionError:
            return FairEnd(False, owners.owned, ended=frozenset(owners.ended))
        if simulation.number > WITHOUT_END:
            return FairEnd(False, owners.owned, ended=frozenset(owners.ended))
        is_quiet = simulation.now - (began if owners.changed is None else owners.changed) >= QUIET
        if is_quiet and owners.has_one_each(expected):
            break
    shares = world.steps.rules.shares
    ended = frozenset(owners.ended)
    if shares is None:
        return FairEnd(is_quiet, owners.owned, ended=ended)
    nodes = {name: process.node for name, process in simulation.processes.items()}
    return FairEnd(is_quiet, owners.owned, shares(nodes, simulation.now), ended)
