"""The simulation: virtual time, a heap of what is due, processes with nodes in them, links between them.

Everything due at the same time happens in the order in which it was created. A timer that is moved counts as created
when it was moved. A process that is killed loses its node and its connections; one that hangs keeps both, and what
comes for it waits until it goes on. Why it is built so: `docs/engine.md`.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from math import inf
from typing import ClassVar

from protocols.engine.links import End, Fault, Latency, Link
from protocols.engine.nodes import Message, Node, Observer, Time, Unobserved
from protocols.engine.process import (
    CALL,
    CLOCK,
    CLOSED,
    COMMAND,
    CONNECTED,
    DELIVERY,
    TIMER,
    Entry,
    Handler,
    Happening,
    Process,
)
from protocols.engine.randomness import Choices, uuid_like
from protocols.engine.traffic import Traffic


@contextmanager
def no_cycle_search() -> Iterator[None]:
    """Python does not search for reference cycles in this block, where nearly all that is made lives on: what goes in
    it goes at once with its last reference, and cycles stay until a later search. May be nested."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


__all__ = [
    "CALL",
    "CLOCK",
    "CLOSED",
    "COMMAND",
    "CONNECTED",
    "DEFAULT_LATENCY",
    "DELIVERY",
    "TIMER",
    "Observer",
    "Process",
    "Simulation",
    "Unobserved",
]

DEFAULT_LATENCY = Latency(1.0, 5.0)


class _HaltedError(Exception):
    """The run is to end early."""


class Simulation:
    """Nodes in virtual time. Deterministic: the same calls with the same seed have the same effects in the same order.

    ``latency`` of every message on every link; ``observer`` is told facts, and with ``tracing`` every message and
    cause. ``ids``: prefix to the ids that are made of it, one after another; all others are made up. What names a
    process that does not run raises `KeyError`. Not thread-safe.
    """

    stands_still: ClassVar[bool] = False
    """Whether no time passes between what happens, as in the explorer's world."""

    def __init__(
        self,
        *,
        seed: int = 0,
        latency: Latency = DEFAULT_LATENCY,
        observer: Observer | None = None,
        tracing: bool = False,
        ids: Mapping[str, Iterator[str]] | None = None,
    ) -> None:
        self.ids: Mapping[str, Iterator[str]] = ids or {}
        self.seed, self.latency = seed, latency
        self.observer: Observer = observer or Unobserved()
        self.tracing = tracing
        self.now: Time = 0.0
        self.number = 0
        """The number given last to something to be handled."""
        self.handling = 0
        self.root = CLOCK
        self.heap: list[Entry] = []
        self.processes: dict[str, Process] = {}
        """The processes that run, in the order of their start."""
        self.messages: dict[type[Message], int] = {}
        """Type of message to how many were sent."""
        self.traffic: Traffic | None = None
        """Told of every message whose size it knows."""
        self.choices: dict[str, dict[str, Choices]] = {}
        """Process and label to the choices made of it."""
        self.ids_given: dict[tuple[str, str], int] = {}
        """(Process, prefix) to how many ids were made up."""
        self.faults: dict[tuple[str, str], Fault] = {}
        self._connections: dict[tuple[str, str], int] = {}
        self._halting = False
        self._untold: list[Link] = []
        """Closed links whose receivers cannot be told while the network is cut."""

    # The world's side: what a scenario does.

    def run(self, until: Time) -> None:
        """Let time pass up to and including ``until``."""
        if until < self.now:
            raise ValueError(f"time cannot go back to {until} ms, now is {self.now} ms")
        heap = self.heap
        end: Entry = (until, inf, 0, CLOCK, Happening(_nothing), None)
        heappush(heap, end)
        try:
            while (entry := heappop(heap)) is not end:
                self.now, _, self.handling, self.root, place, what = entry
                place.handle(what)
            self.now = until
        except _HaltedError:
            heap.remove(end)
            heapify(heap)
        self._halting = False
        self.handling, self.root = 0, CLOCK

    def halt(self) -> None:
        """`run` returns early: once everything that is due now has been handled. To be called while it runs."""
        if not self._halting:
            self._halting = True
            entry: Entry = (self.now, inf, -1, CLOCK, Happening(_halt), None)
            heappush(self.heap, entry)

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        """Call ``action`` at this time. Returns the call's number: the root of all that follows from it."""
        if time < self.now:
            raise ValueError(f"a call at {time} ms is too late, now is {self.now} ms")
        number = self.number = self.number + 1
        heappush(self.heap, (time, self.now, number, number, Happening(_call), action))
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
        process.running = process.hung = False
        process.timers.clear()
        process.stale_timer_entries.clear()
        for link in list(process.links.values()):
            self.hang_up(link)
        for _, _, handler, what in process.backlog:
            if handler == process.opened and not what.shut:
                self.hang_up(what.back)

    def lose(self, name: str) -> None:
        """The process's machine is gone: its state is lost, and nobody is told. To others its connections stay open;
        what they send is never answered."""
        process = self.processes.pop(name)
        process.running, process.hung = False, True
        process.timers.clear()
        process.stale_timer_entries.clear()

    def hang(self, name: str) -> None:
        """Stop the process; its connections stay open, what comes for it waits."""
        self.processes[name].hung = True

    def wake(self, name: str) -> None:
        """The process goes on where it stopped: first with what has come in the meantime, in the order it came; a
        `WakingNode` hears of the ends of connections before all that."""
        process = self.processes[name]
        process.hung = False
        backlog, process.backlog = process.backlog, []
        ended = process.notice_ends(backlog)
        handling, root = self.handling, self.root
        for self.handling, self.root, handler, what in backlog:
            handler(what)
        self.handling, self.root = handling, root
        for link in ended:
            link.open = False

    def command(self, name: str, message: Message) -> None:
        """An operator's command to a node, without any network. A process that hangs handles it when it wakes."""
        self.processes[name].commanded(message)

    def join(self, one: str, other: str) -> None:
        """Two processes have a connection from now on, of which both know already."""
        there, back = (
            self._link(self.processes[one], self.processes[other]),
            self._link(self.processes[other], self.processes[one]),
        )
        there.back, back.back = back, there
        there.open = back.open = True
        self.processes[one].links[other], self.processes[other].links[one] = there, back

    def disconnect(self, name: str, peer: str | None = None) -> None:
        """Cut the connections of a process, or the one with ``peer``; both sides are told."""
        process = self.processes[name]
        for link in list(process.links.values()):
            if peer is None or link.receiver.name == peer:
                self._tell_closed(link)
                process.closed(link.back)

    def set_fault(self, one: str, other: str, fault: Fault | None) -> None:
        """From now on this is wrong with the network between two processes, in both directions; None mends it."""
        for pair in ((one, other), (other, one)):
            self.faults.pop(pair, None)
            if fault is not None:
                self.faults[pair] = fault
            process = self.processes.get(pair[0])
            if process is not None and pair[1] in process.links:
                link = process.links[pair[1]]
                link.fault = link.back.fault = fault
        if fault is None or not fault.cut:
            told = [link for link in self._untold if {link.sender.name, link.receiver.name} == {one, other}]
            self._untold = [link for link in self._untold if link not in told]
            for link in told:
                self._tell_closed(link)

    def dissolve(self) -> None:
        """Nothing will be run or asked for here any more: let go of everybody. Processes and connections refer to each
        other, and Python would have to search for what is left of them, and of all that they and the observer keep."""
        self.heap.clear()
        for process in self.processes.values():
            process.dissolve()
        self.processes.clear()
        self.observer = Unobserved()

    def is_running(self, name: str) -> bool:
        """Whether a process of this name runs (or hangs)."""
        return name in self.processes

    # The processes' side.

    def connect(self, process: Process, to: str) -> Link | None:
        """Open a connection; None where it is refused (``closed`` follows) or where the network is cut."""
        if self._is_cut(process.name, to):
            return None
        peer = self.processes.get(to)
        if peer is None or peer is process:
            self._push(self.now, CLOSED, process, to, process.refused, to)
            return None
        theirs = peer.links.get(process.name)
        if theirs is not None and theirs.receiver is process and not theirs.open and not theirs.shut:
            # The peer has just opened one, which we are yet to hear of: it serves both.
            process.links[to] = theirs.back
            return theirs.back
        there, back = self._link(process, peer), self._link(peer, process)
        there.back, back.back = back, there
        process.links[to] = there
        back.open = True
        self._push(there.arrival(self.now), CONNECTED, peer, process.name, peer.opened, there)
        self._push(self.now, CONNECTED, process, to, process.opened, back)
        return there

    def hang_up(self, link: Link) -> None:
        """The sender of this link closes the connection; the receiver is told."""
        back, sender = link.back, link.sender
        back.open, back.shut = False, True
        if sender.links.get(link.receiver.name) is link:
            del sender.links[link.receiver.name]
        self._tell_closed(link)

    def new_id(self, node: str, prefix: str) -> str:
        """Made up for this process; an empty prefix is left out."""
        count = self.ids_given[node, prefix] = self.ids_given.get((node, prefix), 0) + 1
        made = uuid_like(self.seed, "id", node, prefix, count)
        return f"{prefix}-{made}" if prefix else made

    def _is_cut(self, one: str, other: str) -> bool:
        fault = self.faults.get((one, other))
        return fault is not None and fault.cut

    def _link(self, sender: Process, receiver: Process) -> Link:
        pair = sender.name, receiver.name
        ordinal = self._connections[pair] = self._connections.get(pair, 0) + 1
        link = Link(self.seed, self.latency, sender, receiver, ordinal)
        link.fault = self.faults.get(pair)
        return link

    def _tell_closed(self, link: Link) -> None:
        """The receiver hears of the end of the connection after all that was sent before; where the network is cut
        once it is mended."""
        if self._is_cut(link.sender.name, link.receiver.name):
            self._untold.append(link)
        else:
            receiver = link.receiver
            self._push(link.arrival(self.now), CLOSED, receiver, link.sender.name, receiver.closed, link)

    def _push(self, due: Time, kind: int, process: End, peer: str, handler: Handler, what: object) -> None:
        number = self.number = self.number + 1
        heappush(self.heap, (due, self.now, number, self.root, Happening(handler), what))
        if self.tracing:
            self.observer.created(number, due, kind, process.name, peer, self.handling)


def _call(action: Callable[[], None]) -> None:
    action()


def _halt(what: None) -> None:
    raise _HaltedError


def _nothing(what: None) -> None:
    """What a run that was broken off has left behind."""
