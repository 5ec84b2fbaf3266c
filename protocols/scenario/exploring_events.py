"""How a scenario's events happen in the explorer's world: the system's own cluster applies them, and takes what stands
here for its simulation."""

from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Final, NamedTuple

from protocols import facts
from protocols.engine.exploration.holdings import Script
from protocols.engine.exploration.states import CUT, DEAF, GONE, LOSSY
from protocols.engine.exploration.turn import Turn
from protocols.engine.links import Fault
from protocols.engine.nodes import Message, Node, Time, Unobserved
from protocols.engine.simulation import Simulation
from protocols.scenario.cluster_states import Cluster, ClusterStates
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Crash,
    DeleteTopic,
    Disconnect,
    Event,
    Hang,
    Join,
    Leave,
    Network,
    Queues,
    Restart,
    StopPolling,
)

OF_ONE_MEMBER: Final = (Join, Leave, Crash, Restart, Hang, StopPolling, Disconnect)
"""Events that do something to the process of their member only."""

OF_TOPICS: Final = (AddTopic, DeleteTopic, Queues)
OF_ROUTES: Final = (*OF_TOPICS, BrokerEvent, Network)
"""Events that change what servers say of topics and of each other, or whether anybody hears it."""


class _Process:
    """What a cluster sees of a process."""

    hung: Final = False
    """The explorer refuses what lets a process hang."""

    def __init__(self, node: object) -> None:
        self.node = node

    def __deepcopy__(self, memo: object) -> "_Process":
        return self  # clusters tell processes apart by it


class _Processes:
    """Those that run, by name. What a cluster is given for a process is the same for as long as it lives."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._seen: dict[tuple[str, int], _Process] = {}

    def get(self, name: str) -> _Process | None:
        life, look = self._stage.sees(name)
        if look is None:
            return None
        turn = self._stage.turn
        process = self._seen.setdefault((name, life), _Process(None))
        living = turn.world.steps.livings[turn.run(name).living]
        process.node = living and living.node
        return process

    def __getitem__(self, name: str) -> _Process:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


class Stage:
    """What a cluster takes for the simulation while an event happens: everything is done to the explorer's world."""

    stands_still: Final = True

    def __init__(self, now: Time) -> None:
        self.now = now
        self.turn: Turn
        self.later: list[tuple[Callable[[], None], str]] = []
        self.items: list[_Item] = []
        self.root = self.handling = self.seed = 0
        self.observer: Unobserved
        self.processes = _Processes(self)

    def looks(self, name: str) -> tuple[int, Hashable]:
        """Which of its lives a process is in, and what a cluster can see of it; None where it does not run."""
        world = self.turn.world
        run = self.turn.run(name) if name in world.column else GONE
        if not run.living:
            return run.life, None
        living = world.steps.livings[run.living]
        assert living is not None
        return run.life, world.steps.rules.seen(living.node)

    def sees(self, name: str) -> tuple[int, Hashable]:
        sees = self.looks(name)
        self.items.append(_Item("sees", name, sees))
        return sees

    def does(self, what: str, *given: object) -> None:
        self.items.append(_Item(what, "", given))
        getattr(self.turn, what)(*given)

    def is_running(self, name: str) -> bool:
        return name in self.processes

    def start(self, name: str, node: Node) -> None:
        prepare = self.turn.world.steps.rules.adopt.get(type(node))
        if prepare is not None:
            prepare(node)
        self.does("start", name, node)

    def end(self, name: str) -> None:
        self.does("end", name)

    def lose(self, name: str) -> None:
        self.does("lose", name)

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

    def set_fault(self, one: str, other: str, fault: Fault | None) -> None:
        """Messages are late anyway: a fault that only delays them is none."""
        if (one, other) in self.turn.world.pair_column:
            self.does("set_fault", one, other, _what(fault))

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        self.later.append((action, label))
        return 0


def _what(fault: Fault | None) -> str | None:
    if fault is None or not (fault.cut or fault.loss):
        return None
    return CUT if fault.cut else DEAF if fault.loss == 1 else LOSSY


class _Facts(Unobserved):
    """Facts that a cluster tells for nodes that cannot: of members that have crashed. What it tells of servers and
    producers is no property's concern."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if not isinstance(fact, facts.Stage | facts.Writes | facts.Resends):
            self._stage.does("observe", node, fact)


class Happening(Script):
    """The events of a scenario, made to happen by the cluster, whose states (`ClusterStates`) are the script's.

    What a cluster does on an event depends on what it sees of the processes (`NodeRules.seen`). So it is asked once for
    each way these can look, and what it did is done again everywhere else.
    """

    def __init__(self, events: Sequence[Event], cluster: Cluster, simulation: Simulation, stage: Stage) -> None:
        self.events = tuple(events)
        self.breaks_network = any(isinstance(event, Network) for event in events)
        self.changes_answers = any(isinstance(event, OF_ROUTES) for event in events)
        self._stage = stage
        stage.observer = _Facts(stage)
        kept = (cluster.scenario, *self.events, stage, stage.observer)
        instead = {id(simulation): stage, id(simulation.observer): stage.observer}
        self._clusters = ClusterStates(cluster, kept, instead)
        self._done: dict[tuple[int, int, int | None], list[tuple[list[_Item], int]]] = {}

    def befalls(self, since: int, name: str) -> bool:
        return any(not isinstance(event, OF_ONE_MEMBER) or self._is_about(event, name) for event in self.events[since:])

    def ends(self, since: int, name: str) -> bool:
        about = [
            event
            for event in self.events[since:]
            if not isinstance(event, OF_ONE_MEMBER) or self._is_about(event, name)
        ]
        return all(isinstance(each, Crash) for each in about)

    def _is_about(self, event: Event, name: str) -> bool:
        topology = self._clusters[0].cluster.topology
        keys = [topology.key(event.group, member) for member in event.members()]
        return any(name in (topology.node[key], *topology.together[key]) for key in keys)

    def happen(self, turn: Turn, number: int) -> None:
        self._act(turn, number, None)

    def go_on(self, turn: Turn, left: tuple[int, int, str]) -> None:
        self._act(turn, *left[:2])

    def _act(self, turn: Turn, number: int, place: int | None) -> None:
        before = turn.progress.script
        done = self._done.setdefault((before, number, place), [])
        for items, after in done:
            if self._done_again(turn, items):
                turn.script_is(after)
                return
        state = self._clusters.copy(before)
        stage = self._stage
        stage.turn, stage.later, stage.items = turn, [], []
        if place is None:
            state.cluster.apply(self.events[number])
        else:
            state.left.pop((number, place))()
        for later, label in stage.later:
            free = next(at for at in count() if (number, at) not in state.left)
            state.left[number, free] = later
            stage.does("leave_for_later", (number, free, label))
        after = self._clusters.number(state)
        done.append((stage.items, after))
        turn.script_is(after)

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


class _Item(NamedTuple):
    """What a cluster did on an event: it called a method of `Turn` with these arguments (``value``), or saw how the
    process of this name looks (``sees``)."""

    what: str
    name: str
    value: tuple[object, ...]
