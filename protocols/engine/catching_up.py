"""After a quiet time: everything is as if what was passed over had been simulated (`protocols.engine.quiet`)."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from heapq import heappush
from typing import TYPE_CHECKING, Any, TypeVar

from protocols.engine.lines import Line, Passed
from protocols.engine.nodes import Message, Time, TimerName
from protocols.engine.process import CLOCK, Process
from protocols.engine.quiet import AboutNode, QuietNode

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation

T = TypeVar("T")


def count(simulation: "Simulation", process: Process, lines: list[Line], passed: Passed) -> None:
    """Messages, choices and latency numbers as if nothing had been left out."""
    messages = simulation.messages
    for line, rounds in zip(lines, passed.rounds, strict=True):
        for call in line.exchange.calls if rounds else ():
            messages[call.request] = messages.get(call.request, 0) + rounds
            if call.answer is not None:
                messages[call.answer] = messages.get(call.answer, 0) + rounds
    for link, number, arrival in passed.lanes:
        link.sent = number
        link.last_arrival = arrival
    for label, made in passed.choices.items():
        process.choices_of(label).made = made


def catch_up(simulation: "Simulation", found: Sequence[tuple[Process, list[Line], Passed]]) -> None:
    """Timers are moved and nodes told, in the order in which it would have happened."""
    steps: list[tuple[Time, Time, int, int, int, Callable[[], None]]] = []
    for _, lines, passed in found:
        for due, created, _, at, _, _ in passed.dues:
            line, span = lines[at], passed.spans[at]
            if span is not None:
                exchange, order = line.exchange, line.timer[2]
                root = line.timer[3] if exchange.after_end and exchange.calls else CLOCK
                move = partial(_move, line.process, exchange.timer, due)
                steps.append((created, created - exchange.period, order, 0, root, move))
                node: QuietNode = line.process.node  # type: ignore[assignment]
                begun, ended = span
                tell = partial(node.round_passed, ended, exchange.timer, begun, Aside(line.process))
                steps.append((ended, begun, order, 1, root, tell))
        for (receiver, sender, kind, about), came in passed.last.items():
            hear = _teller(receiver, came.time, sender, kind, about)
            steps.append((came.time, came.sent, came.order, 2, came.root, hear))
    steps.sort(key=lambda step: step[:4])
    for simulation.now, _, _, _, simulation.root, step in steps:
        step()


def _teller(receiver: Process, now: Time, sender: str, kind: type[Message], about: Hashable) -> Callable[[], None]:
    """What tells the receiver of messages that were passed over."""
    if about is None:
        node: QuietNode = receiver.node  # type: ignore[assignment]
        return partial(node.passed, now, sender, kind, Aside(receiver))
    told: AboutNode = receiver.node  # type: ignore[assignment]
    return partial(told.passed_about, now, sender, kind, about, Aside(receiver))


def _move(process: Process, name: TimerName, due: Time) -> None:
    """An exchange's timer is set now, for the first round that is not passed over."""
    simulation = process.simulation
    number = simulation.number = simulation.number + 1
    process.move_timer(name, (due, simulation.now, number, simulation.root, process, name))


class Aside:
    """The outbox of a node that is told of what was passed over. ``tells``: it may tell facts of it; ``later``: they
    are heard when their time has come, as others happen before."""

    __slots__ = ("_later", "_process", "_tells")

    def __init__(self, process: Process, *, tells: bool = False, later: bool = False) -> None:
        self._process, self._tells, self._later = process, tells, later

    def set_timer(self, name: TimerName, at: Time) -> None:
        self._process.set_timer(name, at)

    def cancel_timer(self, name: TimerName) -> None:
        self._process.cancel_timer(name)

    def send(self, to: str, message: Message) -> None:
        raise self._refusal(f"sends {type(message).__name__}")

    def close(self, peer: str) -> None:
        raise self._refusal("closes a connection")

    def observe(self, fact: tuple[Any, ...]) -> None:
        if not self._tells:
            raise self._refusal(f"tells {type(fact).__name__}")
        if self._later:
            simulation = self._process.simulation
            now, number = simulation.now, simulation.number + 1
            simulation.number = number
            heappush(simulation.heap, (now, now, number, simulation.root, self._process.observe, fact))
        else:
            self._process.observe(fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        raise self._refusal(f"chooses {label}")

    def new_id(self, prefix: str) -> str:
        raise self._refusal("makes an id")

    def _refusal(self, what: str) -> RuntimeError:
        return RuntimeError(f"{self._process.name} {what} for what was passed over: so it was not at rest")
