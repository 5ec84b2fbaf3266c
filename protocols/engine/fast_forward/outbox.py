"""The outbox of a node that is moved on over what was skipped: timers may be set, anything else is refused."""

from collections.abc import Callable, Sequence
from heapq import heappush
from typing import Any, TypeVar

from protocols.engine.nodes import Message, Time, TimerName
from protocols.engine.process import Happening, Process

T = TypeVar("T")


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
