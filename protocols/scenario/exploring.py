"""A scenario's system in the explorer's world: the settled group before the first event, and how events happen there.

The group settles in the simulation, without events and without skipping; then nodes, timers and connections move over
to `protocols.engine.exploration`. Each event is applied by the system's own cluster, to which a stand-in looks like the
simulation.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from protocols.engine.exploration.connections import Pair
from protocols.engine.exploration.observing import Watch
from protocols.engine.exploration.rules import NodeRules
from protocols.engine.exploration.states import GONE, Bounds, Progress, Run, State
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
from protocols.scenario.events import Crash, Disconnect, Event, Hang, Join, Leave, Restart, StopPolling
from protocols.scenario.model import Scenario, SystemPart

BEGAN: Final[Time] = float(1 << 26)
"""When the group starts, in milliseconds: later than any duration in a node is long."""

LOOKS_EVERY: Final[Time] = 1000.0
QUIET_FOR: Final[Time] = 90_000.0
"""Nobody's queues have changed for so long: the group has settled."""
LONGEST: Final[Time] = 900_000.0

OF_ONE_MEMBER: Final = (Join, Leave, Crash, Restart, Hang, StopPolling, Disconnect)
"""Events that do something to the process of their member only."""

UNEXPLORED: Final[Mapping[str, str]] = {
    "network": "the explorer delays messages at will and loses none",
    "broker": "brokers neither stop nor return in the explorer",
}
"""Kinds of events that cannot be explored, and why."""


class Settled(NamedTuple):
    """A world, its first state, and what the nodes had told (node, fact) until then."""

    world: World
    first: State
    facts: tuple[tuple[str, tuple[Any, ...]], ...]


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
) -> "Settled":
    """The world of this scenario for this system, and its first state: the settled group before the first event.

    Raises `UserError` for an event that cannot be explored, and for a group that does not settle.
    """
    for event in scenario.events:
        if event.kind_name() in UNEXPLORED:
            raise UserError(f"{event.describe()}: {UNEXPLORED[event.kind_name()]}, expected another event")
    told = _Told()
    simulation = Simulation(seed=scenario.run.seed, latency=Latency(*scenario.run.latency), observer=told)
    simulation.now = BEGAN
    cluster: Any = make(scenario, system, simulation)
    cluster.start()
    _settle(simulation, told)
    steps = Steps(rules, simulation.now, scenario.run.seed)
    stage = _Stage(simulation.now)
    happening = Happening(scenario.events, cluster, simulation, stage)
    processes = _processes(simulation, cluster)
    world = World(
        steps,
        processes,
        _pairs(processes, rules, simulation, cluster),
        watches,
        happening,
        bounds,
        cluster.topology.members,
    )
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


def _first(world: World, simulation: Simulation, told: _Told) -> State:
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


class _Processes:
    """Those that run, by name. What a cluster is given for a process is the same for as long as it lives."""

    def __init__(self, stage: "_Stage") -> None:
        self._stage = stage
        self._seen: dict[tuple[str, int], _Process] = {}

    def get(self, name: str) -> _Process | None:
        """The process of this name; None where none runs."""
        life, look = self._stage.sees(name)
        if look is None:
            return None
        turn = self._stage.turn
        process = self._seen.setdefault((name, life), _Process(None))
        process.node = turn.world.steps.livings[turn.run(name).living].node
        return process

    def __getitem__(self, name: str) -> _Process:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


class _Stage:
    """What a cluster takes for the simulation while an event happens: everything is done to the explorer's world."""

    def __init__(self, now: Time) -> None:
        self.now = now
        self.turn: Any = None
        self.later: list[tuple[Callable[[], None], str]] = []
        self.items: list[_Item] = []
        self.root = self.handling = 0
        self.observer: Any = None
        self.processes = _Processes(self)

    def looks(self, name: str) -> tuple[int, Hashable]:
        """Which of its lives a process is in, and what a cluster can see of it; None where it does not run."""
        world = self.turn.world
        run = self.turn.run(name) if name in world.column else GONE
        if not run.living:
            return run.life, None
        node = world.steps.livings[run.living].node
        return run.life, world.steps.rules.seen(node)

    def sees(self, name: str) -> tuple[int, Hashable]:
        """The same, for the record."""
        found = self.looks(name)
        self.items.append(_Item("sees", name, found))
        return found

    def does(self, what: str, *given: Any) -> None:
        """Something happens to the explorer's world."""
        self.items.append(_Item(what, "", given))
        getattr(self.turn, what)(*given)

    def is_running(self, name: str) -> bool:
        """Whether a process of this name runs (or hangs)."""
        return name in self.processes

    def start(self, name: str, node: Any) -> None:
        """See `protocols.engine.simulation.Simulation`, as for all that follows."""
        prepare = self.turn.world.steps.rules.adopt.get(type(node))
        if prepare is not None:
            prepare(node)
        self.does("start", name, node)

    def end(self, name: str) -> None:
        self.does("end", name)

    def hang(self, name: str) -> None:
        self.does("hang", name)

    def wake(self, name: str) -> None:
        self.does("wake", name)

    def command(self, name: str, message: Message) -> None:
        self.does("command", name, message)

    def disconnect(self, name: str, peer: str | None = None) -> None:
        for one, other in self.turn.world.pair_column:
            if one == name and peer in (None, other):
                self.does("cut", name, other)

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        self.later.append((action, label))
        return 0


class _Facts(Unobserved):
    """Facts that a cluster tells for nodes that cannot: of members that have crashed."""

    def __init__(self, stage: _Stage) -> None:
        self._stage = stage

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self._stage.does("observe", node, fact)


class Happening(Script):
    """The events of a scenario, made to happen by the cluster; a cluster is as it is after so many events.

    What a cluster does on an event depends on what it sees of the processes (`NodeRules.seen`). So it is asked once for
    each way these can look, and what it did is done again everywhere else.
    """

    def __init__(self, events: Sequence[Event], cluster: Any, simulation: Simulation, stage: _Stage) -> None:
        self.events = tuple(events)
        self._stage = stage
        stage.observer = _Facts(stage)
        self._clusters = [self._moved(cluster, {id(simulation): stage, id(simulation.observer): stage.observer})]
        self._done: dict[int, list[list[_Item]]] = {}
        self._left: dict[tuple[int, int], Callable[[], None]] = {}

    def befalls(self, since: int, name: str) -> bool:
        """See `Script`."""
        return any(not isinstance(each, OF_ONE_MEMBER) or self._is_about(each, name) for each in self.events[since:])

    def ends(self, since: int, name: str) -> bool:
        """See `Script`."""
        about = [
            each for each in self.events[since:] if not isinstance(each, OF_ONE_MEMBER) or self._is_about(each, name)
        ]
        return all(isinstance(each, Crash) for each in about)

    def _is_about(self, event: Event, name: str) -> bool:
        topology = self._clusters[0].topology
        keys = [topology.key(event.group, member) for member in event.members()]
        return any(name in (topology.node[key], *topology.together[key]) for key in keys)

    def happen(self, turn: Turn, number: int) -> None:
        """See `Script`."""
        for items in self._done.get(number, ()):
            if self._done_again(turn, items):
                return
        cluster = self._moved(self._clusters[number], {})
        items = self._act(turn, number, lambda: cluster.apply(self.events[number]))
        self._done.setdefault(number, []).append(items)
        if number + 1 == len(self._clusters):
            self._clusters.append(cluster)

    def go_on(self, turn: Turn, left: tuple[int, int, str]) -> None:
        """See `Script`."""
        self._act(turn, left[0], self._left[left[:2]])

    def _act(self, turn: Turn, number: int, action: Callable[[], None]) -> "list[_Item]":
        stage = self._stage
        stage.turn, stage.later, stage.items = turn, [], []
        action()
        for at, (later, label) in enumerate(stage.later):
            self._left.setdefault((number, at), later)
            stage.does("leave_for_later", (number, at, label))
        return stage.items

    def _done_again(self, turn: Turn, items: "Sequence[_Item]") -> bool:
        """Do the same, if the processes look the same; else nothing is done."""
        before, chosen = list(turn.state), len(turn.options)
        self._stage.turn = turn
        for what, name, value in items:
            if what != "sees":
                getattr(turn, what)(*value)
            elif self._stage.looks(name) != value:
                list.__setitem__(turn.state, slice(None), before)
                del turn.options[chosen:]
                return False
        return True

    def _moved(self, cluster: Any, known: dict[int, Any]) -> Any:
        """A copy of the cluster that lives on the stage."""
        stage = self._stage
        kept = {id(each): each for each in (cluster.scenario, *self.events, stage, stage.observer)}
        return deepcopy(cluster, {**kept, **known})


class _Item(NamedTuple):
    """What a cluster did on an event: it called a method of `Turn` with these arguments (``value``), or saw how the
    process of this name looks (``sees``)."""

    what: str
    name: str
    value: Any
