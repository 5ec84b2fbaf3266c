"""A process of the simulation: the place where a node lives, its timers, its connections, its outbox.

A node is pure: it is called with the time and fills an outbox. Everything that a machine adds stands here, once for
all systems: timers that fire late in a process that hangs, connections that close when it dies, messages that wait.
What a simulation hands to a process is one of `Link.handle`, `handle`, `opened`, `closed`, `refused`, `commanded`. A
process that hangs keeps it for later, in order; one that has ended does nothing any more. Simulations spend most of
their time in this file, which is why it repeats a few lines of `Link` in place of calling them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappush
from typing import Any, Protocol, TypeAlias, TypeVar, final

from protocols.engine.links import Latency, Link
from protocols.engine.nodes import OPERATOR, Message, Node, Observer, Time, TimerName
from protocols.engine.randomness import Choices
from protocols.engine.traffic import Traffic

T = TypeVar("T")

Handler: TypeAlias = Callable[[Any], None]

Entry: TypeAlias = "tuple[Time, Time, int, int, Process | Link | Happening, Any]"
"""Of the heap: due, created, number, root, where it happens and what; ``handle`` of the place is called with it. In a
process a timer of this name is due, on a link this message.

What is due at one time happens in the order of its creation; numbers rise with it among what is created at one time.
"""

Kept: TypeAlias = tuple[int, int, Handler, Any]
"""Number, root, handler and what of something that came while the process hung."""

DELIVERY, TIMER, CONNECTED, CLOSED, CALL, COMMAND = range(6)
"""Kinds of what is handled, as observers are told."""

CLOCK = -1
"""The root of what periodic timers do: nothing caused it but the clock."""

NOT_FIRING = object()
"""No timer's name."""


@final
class Happening:
    """What is neither a timer nor a message: a connection that opens or closes, a call."""

    __slots__ = ("handle",)

    def __init__(self, handle: Handler) -> None:
        self.handle = handle


class World(Protocol):
    """What a process asks of the simulation, which builds on it and on links."""

    traffic: Traffic | None

    seed: int
    now: Time
    number: int
    handling: int
    root: int
    tracing: bool
    latency: Latency
    observer: Observer
    heap: list[Entry]
    messages: dict[type[Message], int]
    choices: dict[str, dict[str, Choices]]
    ids: Mapping[str, Iterator[str]]

    def connect(self, process: "Process", to: str) -> Link | None: ...

    def hang_up(self, link: Link) -> None: ...

    def new_id(self, node: str, prefix: str) -> str: ...


@final
class Process:
    """A node in the simulation; to its node it is the outbox (`protocols.engine.nodes.Outbox`)."""

    __slots__ = (
        "_heap",
        "backlog",
        "choices",
        "firing",
        "hung",
        "links",
        "name",
        "node",
        "running",
        "simulation",
        "stale_timer_entries",
        "timers",
    )

    def __init__(self, simulation: World, name: str, node: Node) -> None:
        self.simulation = simulation
        self.name = name
        self.node = node
        self.running = True
        self.timers: dict[TimerName, Entry] = {}
        """Those that are set, as they stand or will stand in the heap."""
        self.stale_timer_entries: dict[TimerName, Entry] = {}
        """Of timers that were moved to later or cancelled: the entry that is still in the heap. When its turn comes,
        the timer's own takes its place. So moving a timer again and again costs nothing there."""
        self.links: dict[str, Link] = {}
        """Peer to the link on which we send to it, where a connection is open."""
        self.hung = False
        self.backlog: list[Kept] = []
        """All that came while the process hung."""
        self._heap = simulation.heap
        self.choices = simulation.choices.setdefault(name, {})
        """Label to the choices of all processes of this name."""
        self.firing: TimerName = NOT_FIRING
        """The timer that the node is told of now."""

    # The outbox.

    def send(self, to: str, message: Message) -> None:
        simulation = self.simulation
        messages = simulation.messages
        kind = type(message)
        try:
            messages[kind] += 1
        except KeyError:
            messages[kind] = 1
        link = self.links.get(to)
        if link is None:
            link = simulation.connect(self, to)
        traffic = simulation.traffic
        # Nothing goes to a server where no connection can be opened.
        if traffic is not None and link is not None and kind in traffic.sizes:
            traffic.sent(simulation.now, self.name, to, message)
        if link is None or link.fault is not None or simulation.tracing:
            self._send_with_care(to, link, message)
            return
        # As `Link.arrival` does; this is where a simulation spends its time.
        now = simulation.now
        number = simulation.number = simulation.number + 1
        due = now + (link.drawn or link.draw()).pop()
        if due < link.last_arrival:
            due = link.last_arrival
        else:
            link.last_arrival = due
        heappush(self._heap, (due, now, number, simulation.root, link, message))

    def close(self, peer: str) -> None:
        link = self.links.get(peer)
        if link is not None:
            self.simulation.hang_up(link)

    def set_timer(self, name: TimerName, at: Time) -> None:
        simulation = self.simulation
        now = simulation.now
        if at < now:
            raise ValueError(f"timer {name!r} of {self.name} set to {at} ms, now is {now} ms")
        number = simulation.number = simulation.number + 1
        # A timer that sets itself again is the clock's doing, not that of whoever started it.
        root = CLOCK if name == self.firing else simulation.root
        if simulation.tracing:
            simulation.observer.created(number, at, TIMER, self.name, name, simulation.handling)
        timer: Entry = (at, now, number, root, self, name)
        # As `move_timer` does; every heartbeat moves a timer at its coordinator.
        stale, timers = self.stale_timer_entries, self.timers
        carrier = stale.get(name) or timers.get(name)
        timers[name] = timer
        if carrier is None:
            heappush(self._heap, timer)
        elif carrier < timer:
            stale[name] = carrier
        else:
            stale.pop(name, None)
            heappush(self._heap, timer)

    def cancel_timer(self, name: TimerName) -> None:
        timer = self.timers.pop(name, None)
        if timer is not None:
            self.stale_timer_entries.setdefault(name, timer)

    def observe(self, fact: tuple[object, ...]) -> None:
        simulation = self.simulation
        simulation.observer.fact(simulation.now, self.name, fact, simulation.root, simulation.handling)

    def choose(self, label: str, options: Sequence[T]) -> T:
        choices = self.choices.get(label) or self.choices_of(label)
        return options[choices.next(len(options))]

    def new_id(self, prefix: str) -> str:
        recorded = self.simulation.ids.get(prefix)
        given = None if recorded is None else next(recorded, None)
        return given or self.simulation.new_id(self.name, prefix)

    # What the heap hands to us.

    def handle(self, name: TimerName) -> None:
        """The entry of a timer is due: it fires, if the entry is still its own."""
        simulation = self.simulation
        timer = self.timers.get(name)
        if timer is not None and timer[2] == simulation.handling:
            if self.hung:
                self.wait(self.handle, name)
                return
            del self.timers[name]
            self.firing = name
            self.node.timeout(simulation.now, name, self)
            self.firing = NOT_FIRING
            return
        stale = self.stale_timer_entries.get(name)
        if stale is not None and stale[2] == simulation.handling:
            del self.stale_timer_entries[name]
            if timer is not None:
                heappush(simulation.heap, timer)

    def opened(self, link: Link) -> None:
        """Somebody has connected to us (or we to him, and ``link`` is what we hear him on)."""
        if self.hung:
            self.wait(self.opened, link)
        elif not self.running:
            self.simulation.hang_up(link.back)
        elif not link.shut:
            peer = link.sender.name
            mine = self.links.get(peer)
            if mine is not None and mine is not link.back:
                self._drop(mine.back)
            link.open = True
            self.links[peer] = link.back
            self.node.connected(self.simulation.now, peer, self)

    def closed(self, link: Link) -> None:
        """The peer at the other end of this link has closed, or the connection was cut."""
        if self.hung:
            self.wait(self.closed, link)
        elif self.running and not link.shut:
            self._drop(link)

    def refused(self, peer: str) -> None:
        """Nobody was there to connect to."""
        if self.hung:
            self.wait(self.refused, peer)
        elif self.running:
            self.node.closed(self.simulation.now, peer, self)

    def commanded(self, message: Message) -> None:
        if self.hung:
            self.wait(self.commanded, message)
        elif self.running:
            self.node.receive(self.simulation.now, OPERATOR, message, self)

    def wait(self, handler: Handler, what: object) -> None:
        """We hang: for later."""
        self.backlog.append((self.simulation.handling, self.simulation.root, handler, what))

    def notice_ends(self, backlog: Sequence[Kept]) -> list[Link]:
        """We go on after we hung: tell a `WakingNode` which connections have ended meanwhile. What had come over them
        is still to be handled; what is sent from now on opens new ones. The links on which we heard those peers."""
        woken = getattr(self.node, "woken", None)
        if woken is None:
            return []
        ended = [what for _, _, handler, what in backlog if handler == self.closed and not what.shut]
        for link in ended:
            link.shut = True
            self._forget(link)
        if ended:
            woken(self.simulation.now, tuple([link.sender.name for link in ended]), self)
        return ended

    def dissolve(self) -> None:
        """See `Simulation.dissolve`: no node is here any more."""
        self.timers.clear()
        self.stale_timer_entries.clear()
        self.links.clear()
        self.backlog.clear()
        del self.node

    def choices_of(self, label: str) -> Choices:
        choices = self.choices.get(label)
        if choices is None:
            choices = self.choices[label] = Choices(self.simulation.seed, "choose", self.name, label)
        return choices

    def move_timer(self, name: TimerName, timer: Entry) -> None:
        """The timer, which may be set already, stands as this entry from now on."""
        carrier = self.stale_timer_entries.get(name) or self.timers.get(name)
        self.timers[name] = timer
        if carrier is not None and carrier < timer:
            self.stale_timer_entries[name] = carrier
        else:
            self.stale_timer_entries.pop(name, None)
            heappush(self._heap, timer)

    def _send_with_care(self, to: str, link: Link | None, message: Message) -> None:
        """Send where no connection could be opened, or something is wrong with it, or somebody watches."""
        simulation = self.simulation
        number = simulation.number = simulation.number + 1
        due: Time | None = None
        if link is not None and not link.loses(message):
            due = link.arrival(simulation.now)
            heappush(self._heap, (due, simulation.now, number, simulation.root, link, message))
        if simulation.tracing:
            simulation.observer.sent(simulation.now, due, self.name, to, message, number, simulation.handling)

    def _drop(self, link: Link) -> None:
        """The connection on which we heard somebody is gone."""
        link.open, link.shut = False, True
        self._forget(link)
        self.node.closed(self.simulation.now, link.sender.name, self)

    def _forget(self, link: Link) -> None:
        """What is sent to whom we heard on this link does not go over its connection any more."""
        peer = link.sender.name
        if self.links.get(peer) is link.back:
            del self.links[peer]
