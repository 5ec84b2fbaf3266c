"""The simulation: virtual time, a heap of what is due, processes with nodes in them, links between them.

Everything due at the same time happens in the order in which it was created. A timer that is moved counts as created
when it was moved. A process that is killed loses its node and its connections; one that hangs keeps both, and what
comes for it waits until it goes on.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol, TypeVar

from protocols.links import Fault, Latency, Link
from protocols.nodes import OPERATOR, Message, Node, Time, TimerName
from protocols.randomness import number_below, uuid_like

T = TypeVar("T")

DELIVERY, TIMER, CONNECTED, CLOSED, CALL, COMMAND = range(6)
"""What an entry of the heap is."""

DEFAULT_LATENCY = Latency(1.0, 5.0)

CLOCK = -1
"""The root of what periodic timers do: nothing caused it but the clock."""


class Observer(Protocol):
    """Who watches a simulation.

    ``root`` is the number of the call (see `Simulation.at`) that began the chain of causes, or `CLOCK`. Everything
    that is handled has a number, rising in the order of creation; ``cause`` is the number of what was being handled.
    """

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        """A node told something (one of `protocols.facts`)."""

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None:
        """Something is going to be handled (only told while tracing): a timer (``what`` is its name), a connection
        opened or closed (the peer), a call (its label)."""

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        """A message was sent (only told while tracing); ``arrives`` is None where it is lost."""


class Unobserved:
    """An observer that does not look."""

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None: ...

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None: ...

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None: ...


class Process:
    """A place where a node lives; also the outbox of its node."""

    __slots__ = ("_firing", "backlog", "hung", "links", "name", "node", "simulation", "timers")

    def __init__(self, simulation: "Simulation", name: str, node: Node) -> None:
        self.simulation = simulation
        self.name = name
        self.node: Node | None = node
        """None once the process has ended."""
        self.timers: dict[TimerName, tuple[Time, int, int, bool]] = {}
        """Name to (due, number, root, whether an entry of the heap is its own)."""
        self.links: dict[str, Link] = {}
        """Peer to the link on which we send to it, where a connection is open."""
        self.hung = False
        self.backlog: list[tuple[int, int, int, Any, Any]] = []
        self._firing: TimerName = None

    def send(self, to: str, message: Message) -> None:
        simulation = self.simulation
        kind = type(message)
        simulation.messages[kind] = simulation.messages.get(kind, 0) + 1
        link = self.links.get(to) or simulation.connect(self, to)
        due = None if link is None else link.arrival(simulation.now)
        number = simulation.number = simulation.number + 1
        if simulation.tracing:
            simulation.observer.sent(simulation.now, due, self.name, to, message, number, simulation.handling)
        if link is not None and due is not None:
            heappush(simulation.heap, (due, number, simulation.root, DELIVERY, link.receiver, link, message))

    def close(self, peer: str) -> None:
        link = self.links.get(peer)
        if link is not None:
            self.simulation.hang_up(self, link.receiver)

    def set_timer(self, name: TimerName, at: Time) -> None:
        simulation = self.simulation
        if at < simulation.now:
            raise ValueError(f"timer {name!r} of {self.name} set to {at} ms, now is {simulation.now} ms")
        number = simulation.number = simulation.number + 1
        # A timer that sets itself again is the clock's doing, not that of whoever started it.
        root = CLOCK if name == self._firing else simulation.root
        before = self.timers.get(name)
        # Moved to later, a timer needs no new entry: the one in the heap comes first and is then put back.
        own = before is None or before[0] > at
        self.timers[name] = (at, number, root, own)
        if own:
            heappush(simulation.heap, (at, number, root, TIMER, self, name, None))
        if simulation.tracing:
            simulation.observer.created(number, at, TIMER, self.name, name, simulation.handling)

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[Any, ...]) -> None:
        simulation = self.simulation
        simulation.observer.fact(simulation.now, self.name, fact, simulation.root, simulation.handling)

    def choose(self, label: str, options: Sequence[T]) -> T:
        return options[number_below(len(options), *self.simulation.counted("choose", self.name, label))]

    def new_id(self, prefix: str) -> str:
        return f"{prefix}-{uuid_like(*self.simulation.counted('id', self.name, prefix))}"

    def handle(self, number: int, root: int, kind: int, what: Any, message: Any) -> None:
        """One entry of the heap that is due."""
        node = self.node
        if node is None:
            return
        simulation = self.simulation
        if kind == TIMER:
            timer = self.timers.get(what)
            if timer is None:
                return
            if timer[1] != number:
                if not timer[3]:
                    self.timers[what] = (timer[0], timer[1], timer[2], True)
                    heappush(simulation.heap, (timer[0], timer[1], timer[2], TIMER, self, what, None))
                return
            if self.hung:
                self.backlog.append((number, root, kind, what, message))
                return
            del self.timers[what]
        elif self.hung:
            self.backlog.append((number, root, kind, what, message))
            return
        simulation.handling, simulation.root = number, root
        if kind == DELIVERY:
            if what.open:
                node.receive(simulation.now, what.sender.name, message, self)
        elif kind == TIMER:
            self._firing = what
            node.timeout(simulation.now, what, self)
            self._firing = None
        elif kind == CONNECTED:
            self._opened(node, what)
        elif kind == COMMAND:
            node.receive(simulation.now, OPERATOR, message, self)
        elif what is None:
            node.closed(simulation.now, message, self)
        elif what.open:
            self._closed(node, what)

    def _opened(self, node: Node, link: Link) -> None:
        """Somebody has connected to us (or we to him, and ``link`` is what we hear him on)."""
        peer = link.sender
        mine = self.links.get(peer.name)
        if mine is not None and mine is not link.back:
            if mine.receiver is peer and mine.back.open and peer.links.get(self.name) is mine.back:
                link.open = True  # both connected at the same time: one connection, opened twice
                return
            self._closed(node, mine.back)
        link.open = True
        self.links[peer.name] = link.back
        node.connected(self.simulation.now, peer.name, self)

    def _closed(self, node: Node, link: Link) -> None:
        link.open = False
        peer = link.sender.name
        if self.links.get(peer) is link.back:
            del self.links[peer]
        node.closed(self.simulation.now, peer, self)


class Simulation:
    """Nodes in virtual time. Deterministic: the same calls with the same seed have the same effects in the same order.

    ``latency`` of every message on every link; ``observer`` is told facts, and with ``tracing`` every message and
    cause. Not thread-safe.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        latency: Latency = DEFAULT_LATENCY,
        observer: Observer | None = None,
        tracing: bool = False,
    ) -> None:
        self.seed, self.latency = seed, latency
        self.observer: Observer = observer or Unobserved()
        self.tracing = tracing
        self.now: Time = 0.0
        self.number = 0
        """The number given last to something to be handled."""
        self.handling = 0
        self.root = CLOCK
        self.heap: list[tuple[Time, int, int, int, Any, Any, Any]] = []
        self.processes: dict[str, Process] = {}
        """The processes that run, in the order of their start."""
        self.messages: dict[type[Message], int] = {}
        """Type of message to how many were sent."""
        self.faults: dict[tuple[str, str], Fault] = {}
        self._counts: dict[tuple[str, str, str], int] = {}
        self._connections: dict[tuple[str, str], int] = {}
        self._untold: list[Link] = []
        """Closed links whose receivers cannot be told while the network is cut."""

    # The world's side: what a scenario does.

    def run(self, until: Time) -> None:
        """Let time pass up to and including ``until``."""
        heap = self.heap
        while heap and heap[0][0] <= until:
            due, number, root, kind, process, what, message = heappop(heap)
            self.now = due
            if kind == CALL:
                self.handling, self.root = number, root
                process()
            else:
                process.handle(number, root, kind, what, message)
        self.now = max(self.now, until)
        self.handling, self.root = 0, CLOCK

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        """Call ``action`` at this time. Returns the call's number: the root of all that follows from it."""
        number = self.number = self.number + 1
        heappush(self.heap, (time, number, number, CALL, action, label, None))
        if self.tracing:
            self.observer.created(number, time, CALL, "", label, self.handling)
        return number

    def start(self, name: str, node: Node) -> None:
        """Start a process with this node. `ValueError` where one of this name runs."""
        if name in self.processes:
            raise ValueError(f"process {name!r} runs already")
        process = self.processes[name] = Process(self, name, node)
        node.start(self.now, process)

    def end(self, name: str) -> None:
        """The process ends at once, however it came to it: its state is lost, its connections close."""
        process = self.processes.pop(name)
        process.node = None
        for link in list(process.links.values()):
            self.hang_up(process, link.receiver)

    def hang(self, name: str) -> None:
        """Stop the process; its connections stay open, what comes for it waits."""
        self.processes[name].hung = True

    def wake(self, name: str) -> None:
        """The process goes on where it stopped: first with what has come in the meantime, in the order it came."""
        process = self.processes[name]
        process.hung = False
        backlog, process.backlog = process.backlog, []
        handling, root = self.handling, self.root
        for entry in backlog:
            process.handle(*entry)
        self.handling, self.root = handling, root

    def command(self, name: str, message: Message) -> None:
        """An operator's command to a node, without any network. A process that hangs handles it when it wakes."""
        self.processes[name].handle(self.handling, self.root, COMMAND, None, message)

    def disconnect(self, name: str, peer: str | None = None) -> None:
        """Cut the connections of a process, or the one with ``peer``; both sides are told."""
        process = self.processes[name]
        for link in list(process.links.values()):
            if peer is None or link.receiver.name == peer:
                self.hang_up(process, link.receiver)
                process.handle(self.handling, self.root, CLOSED, None, link.receiver.name)

    def set_fault(self, one: str, other: str, fault: Fault | None) -> None:
        """From now on this is wrong with the network between two processes, in both directions; None mends it."""
        for pair in ((one, other), (other, one)):
            self.faults.pop(pair, None)
            if fault is not None:
                self.faults[pair] = fault
            process = self.processes.get(pair[0])
            if process is not None and pair[1] in process.links:
                process.links[pair[1]].fault = fault
        if fault is None or not fault.cut:
            told = [link for link in self._untold if {link.sender.name, link.receiver.name} == {one, other}]
            self._untold = [link for link in self._untold if link not in told]
            for link in told:
                self._tell_closed(link)

    def is_running(self, name: str) -> bool:
        """Whether a process of this name runs (or hangs)."""
        return name in self.processes

    # The processes' side.

    def connect(self, process: Process, to: str) -> Link | None:
        """Open a connection; None where it is refused (``closed`` follows) or where the network is cut."""
        fault = self.faults.get((process.name, to))
        if fault is not None and fault.cut:
            return None
        peer = self.processes.get(to)
        if peer is None or peer is process:
            self._push(self.now, CLOSED, process, None, to)
            return None
        there, back = self._link(process, peer), self._link(peer, process)
        there.back, back.back = back, there
        process.links[to] = there
        back.open = True
        self._push(there.arrival(self.now) or self.now, CONNECTED, peer, there)
        self._push(self.now, CONNECTED, process, back)
        return there

    def hang_up(self, process: Process, peer: Process) -> None:
        """The process closes its side of a connection; the peer is told, where the network is cut once it is mended."""
        link = process.links.pop(peer.name)
        link.back.open = False
        if link.fault is not None and link.fault.cut:
            self._untold.append(link)
        else:
            self._tell_closed(link)

    def counted(self, what: str, node: str, label: str) -> tuple[object, ...]:
        """The name of the next number of a stream of choices or ids."""
        count = self._counts[what, node, label] = self._counts.get((what, node, label), 0) + 1
        return self.seed, what, node, label, count

    def _link(self, sender: Process, receiver: Process) -> Link:
        pair = sender.name, receiver.name
        ordinal = self._connections[pair] = self._connections.get(pair, 0) + 1
        link = Link(self.seed, self.latency, sender, receiver, ordinal)
        link.fault = self.faults.get(pair)
        return link

    def _tell_closed(self, link: Link) -> None:
        due = max(self.now + link.latency(link.sent), link.last_arrival)
        link.sent += 1
        self._push(due, CLOSED, link.receiver, link)

    def _push(self, due: Time, kind: int, process: Process, what: Link | None, peer: str = "") -> None:
        number = self.number = self.number + 1
        heappush(self.heap, (due, number, self.root, kind, process, what, peer))
        if self.tracing:
            other = peer if what is None else what.sender.name
            self.observer.created(number, due, kind, process.name, other, self.handling)
