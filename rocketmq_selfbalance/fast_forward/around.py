"""What is put around nodes: the outbox of a node that is moved on over what was skipped, and an observer that remembers
where the network had a fault, because who waits for an answer may wait in vain there."""

from collections.abc import Callable, Sequence
from heapq import heappush
from math import inf
from typing import Any, TypeVar

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Observer, Time, TimerName
from protocols.engine.process import Happening, Process

T = TypeVar("T")


def is_sound(link: Link) -> bool:
    """Whether the connection is open at both ends, and nothing is wrong with the network."""
    back = link.back
    return link.open and back.open and link.fault is None and back.fault is None


class ReplayOutbox:
    """The outbox of a node that is moved on over what was skipped. ``tells``: it may tell facts of it; ``later``: they
    are heard when their time has come, as others happen before."""

    __slots__ = ("_later", "_process", "_tells")

    def __init__(self, process: Process, *, tells: bool = False, later: bool = False) -> None:
        self._process, self._tells, self._later = process, tells, later

    def set_timer(self, name: TimerName, at: Time) -> None:
        self._process.set_timer(name, at)

    def cancel_timer(self, name: TimerName) -> None:
        self._process.cancel_timer(name)

    def due(self, name: TimerName) -> Time | None:
        """When this timer of the node is due; None where it is not set."""
        timer = self._process.timers.get(name)
        return None if timer is None else timer[0]

    def later(self, action: Callable[[], None]) -> None:
        """Do this when the time comes to which the node is moved on, which lies ahead."""
        self._push(Happening(lambda _: action()), None)

    def send(self, to: str, message: Message) -> None:
        raise self._refusal(f"sends {type(message).__name__}")

    def close(self, peer: str) -> None:
        raise self._refusal("closes a connection")

    def observe(self, fact: tuple[Any, ...]) -> None:
        if not self._tells:
            raise self._refusal(f"tells {type(fact).__name__}")
        if self._later:
            self._push(Happening(self._process.observe), fact)
        else:
            self._process.observe(fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        raise self._refusal(f"chooses {label}")

    def new_id(self, prefix: str) -> str:
        raise self._refusal("makes an id")

    def _push(self, happening: Happening, what: Any) -> None:
        simulation = self._process.simulation
        now, number = simulation.now, simulation.number + 1
        simulation.number = number
        heappush(simulation.heap, (now, now, number, simulation.root, happening, what))

    def _refusal(self, what: str) -> RuntimeError:
        return RuntimeError(f"{self._process.name} {what} for what was skipped: so it was not quiescent")


class Troubles:
    """An observer that passes every report on, and remembers when a fault last harmed anything between two processes,
    from now on."""

    __slots__ = ("_following", "_last", "created", "fact", "sent")

    def __init__(self, following: Observer) -> None:
        self._following = following
        self._last: dict[frozenset[str], Time] = {}
        self.fact, self.created, self.sent = following.fact, following.created, following.sent

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        """See `protocols.engine.nodes.Observer`."""
        self._last[frozenset((sender, to))] = now
        self._following.harmed(now, sender, to, lost)

    def may_wait_in_vain(self, link: Link, now: Time, within: Time) -> bool:
        """Whether somebody may still do so who waits so many milliseconds for an answer from either side."""
        return bool(self._last) and now < self._between(link.sender.name, link.receiver.name) + within

    def lost_since(self, process: Process, peer: str, since: Time) -> bool:
        """Whether a message between the two was lost or delayed since then."""
        return bool(self._last) and peer in process.links and self._between(process.name, peer) >= since

    def _between(self, one: str, other: str) -> Time:
        return self._last.get(frozenset((one, other)), -inf)
