"""A scenario's system in the explorer's world: the settled group before the first event, and how events happen there.

The group settles in the simulation, without events and without skipping; then nodes, timers and connections move over
to `protocols.engine.exploration`. Each event is applied by the system's own cluster, to which a stand-in looks like the
simulation.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from protocols.engine.exploration.connections import Pair
from protocols.engine.exploration.observing import Watch
from protocols.engine.exploration.rules import NodeRules
from protocols.engine.exploration.states import Bounds, Progress, Run, State
from protocols.engine.exploration.steps import Steps
from protocols.engine.exploration.turn import Script, Turn
from protocols.engine.exploration.world import World
from protocols.engine.links import Latency, Link
from protocols.engine.nodes import Message, Time
from protocols.engine.observer import Unobserved
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.facts import Granted, Owns
from protocols.scenario.cluster import MakeCluster
from protocols.scenario.events import Event
from protocols.scenario.model import Scenario, SystemPart

BEGAN: Final[Time] = float(1 << 26)
"""When the group starts, in milliseconds: later than any duration in a node is long."""

LOOKS_EVERY: Final[Time] = 1000.0
QUIET_FOR: Final[Time] = 90_000.0
"""Nobody's queues have changed for so long: the group has settled."""
LONGEST: Final[Time] = 900_000.0

UNEXPLORED: Final[Mapping[str, str]] = {
    "network": "the explorer delays messages at will and loses none",
    "broker": "brokers neither stop nor return in the explorer",
}
"""Kinds of events that cannot be explored, and why."""


class _Told(Unobserved):
    """When ownership changed last, and all facts so far."""

    def __init__(self) -> None:
        self.changed: Time = 0.0
        self.facts: list[tuple[str, tuple[Any, ...]]] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        """See `protocols.engine.observer.Observer`."""
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
) -> tuple[World, State]:
    """The world of this scenario for this system, and its first state: the settled group before the first event.

    Raises `UserError` for an event that cannot be explored, and for a group that does not settle.
    """
    for event in scenario.events:
        if event.kind_name() in UNEXPLORED:
            raise UserError(f"{event.describe()}: {UNEXPLORED[event.kind_name()]}, expected another event")
    told = _Told()
    simulation = Simulation(seed=scenario.run.seed, latency=Latency(*scenario.run.latency), observer=told)
    simulation.now = BEGAN
    cluster = make(scenario, system, simulation)
    cluster.start()
    _settle(simulation, told)
    steps = Steps(rules, simulation.now, scenario.run.seed)
    stage = _Stage(simulation.now)
    happening = Happening(scenario.events, cluster, simulation, stage, simulation.observer)
    processes = _processes(simulation, cluster)
    world = World(steps, processes, _pairs(processes, rules, simulation, cluster), watches, happening, bounds)
    stage.steps = steps
    return world, _first(world, simulation, told, happening)


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


def _is_passage(place: Any) -> bool:
    return type(place).__name__ == "Happening"


def _processes(simulation: Simulation, cluster: Any) -> tuple[str, ...]:
    """All that run, and the members that come later."""
    return tuple(dict.fromkeys([*simulation.processes, *cluster.topology.members]))


def _pairs(
    processes: Sequence[str], rules: NodeRules, simulation: Simulation, cluster: Any
) -> tuple[tuple[str, str], ...]:
    """Servers among each other, and each member with each server."""
    members = set(cluster.topology.members)
    servers = [name for name in processes if name not in members]
    among = [(one, other) for at, one in enumerate(servers) for other in servers[at + 1 :]]
    return (*among, *((name, server) for name in processes if name in members for server in servers))


def _first(world: World, simulation: Simulation, told: _Told, happening: "Happening") -> State:
    facts: dict[str, list[tuple[Any, ...]]] = {}
    for name, fact in told.facts:
        facts.setdefault(name, []).append(fact)
    ids: dict[str, dict[str, int]] = {}
    for (name, prefix), count in simulation.ids_given.items():
        ids.setdefault(name, {})[prefix] = count
    state = [0] * world.width
    state[0] = world.progress.number(Progress(0))
    for name, process in simulation.processes.items():
        timers = {each: entry[0] for each, entry in process.timers.items()}
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


class _Process:
    """What a cluster sees of a process."""

    def __init__(self, node: Any) -> None:
        self.node = node


class _Stage:
    """What a cluster takes for the simulation while an event happens: everything is done to the explorer's world."""

    def __init__(self, now: Time) -> None:
        self.now = now
        self.steps: Steps | None = None
        self.turn: Any = None
        self.later: list[tuple[Callable[[], None], str]] = []
        self.root = self.handling = 0
        self.observer: Any = None
        self._seen: dict[tuple[str, int, int], _Process] = {}

    @property
    def processes(self) -> dict[str, _Process]:
        """Those that run. What a cluster is given for a process is the same for as long as it lives."""
        found = {}
        for name in self.turn.world.processes:
            run = self.turn.run(name)
            if run.living:
                process = self._seen.setdefault((name, run.life, 0), _Process(None))
                process.node = self.steps.livings[run.living].node  # type: ignore[union-attr]
                found[name] = process
        return found

    def is_running(self, name: str) -> bool:
        """Whether a process of this name runs (or hangs)."""
        return name in self.turn.world.column and bool(self.turn.run(name).living)

    def start(self, name: str, node: Any) -> None:
        """See `protocols.engine.simulation.Simulation`, as for all that follows."""
        prepare = self.turn.world.steps.rules.adopt.get(type(node))
        if prepare is not None:
            prepare(node)
        self.turn.start(name, node)

    def end(self, name: str) -> None:
        self.turn.end(name)

    def hang(self, name: str) -> None:
        self.turn.hang(name)

    def wake(self, name: str) -> None:
        self.turn.wake(name)

    def command(self, name: str, message: Message) -> None:
        self.turn.command(name, message)

    def disconnect(self, name: str, peer: str | None = None) -> None:
        for one, other in self.turn.world.pair_column:
            if one == name and peer in (None, other):
                self.turn.cut(name, other)

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        self.later.append((action, label))
        return 0


class _Facts(Unobserved):
    """Facts that a cluster tells for nodes that cannot: of members that have crashed."""

    def __init__(self, stage: _Stage) -> None:
        self._stage = stage

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self._stage.turn.observe(node, fact)


class Happening(Script):
    """The events of a scenario, made to happen by the cluster; a cluster is as it is after so many events."""

    def __init__(
        self, events: Sequence[Event], cluster: Any, simulation: Simulation, stage: _Stage, observer: Any
    ) -> None:
        self.events = tuple(events)
        self._stage = stage
        stage.observer = _Facts(stage)
        self._simulation = simulation
        self._clusters = [self._moved(cluster, {id(simulation): stage})]
        self._left: dict[tuple[int, int], Callable[[], None]] = {}

    def happen(self, turn: Turn, number: int) -> None:
        """See `Script`."""
        cluster = self._moved(self._clusters[number], {id(self._stage): self._stage})
        self._act(turn, number, lambda: cluster.apply(self.events[number]))
        if number + 1 == len(self._clusters):
            self._clusters.append(cluster)

    def go_on(self, turn: Turn, left: tuple[int, int, str]) -> None:
        """See `Script`."""
        self._act(turn, left[0], self._left[left[:2]])

    def _act(self, turn: Turn, number: int, action: Callable[[], None]) -> None:
        stage = self._stage
        stage.turn, stage.later = turn, []
        action()
        for at, (later, label) in enumerate(stage.later):
            self._left.setdefault((number, at), later)
            turn.leave_for_later((number, at, label))
        stage.turn = None

    def _moved(self, cluster: Any, known: dict[int, Any]) -> Any:
        """A copy of the cluster that lives on the stage."""
        kept = {id(each): each for each in (cluster.scenario, *self.events)}
        return deepcopy(cluster, {**kept, **known})
