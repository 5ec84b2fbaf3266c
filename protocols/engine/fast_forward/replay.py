"""After a quiet time: everything is as if what was skipped had been simulated."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from protocols.engine.fast_forward.adapters import Adapter
from protocols.engine.fast_forward.outbox import ReplayOutbox
from protocols.engine.fast_forward.scheduled import Passed, ScheduledExchange
from protocols.engine.nodes import Time, TimerName
from protocols.engine.process import CLOCK, Process

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation

T = TypeVar("T")


def count(simulation: "Simulation", process: Process, schedule: list[ScheduledExchange], passed: Passed) -> None:
    """Messages, choices and latency numbers as if nothing had been left out."""
    messages = simulation.messages
    for scheduled, rounds in zip(schedule, passed.rounds, strict=True):
        for call in scheduled.exchange.calls if rounds else ():
            messages[call.request] = messages.get(call.request, 0) + rounds
            if call.answer is not None:
                messages[call.answer] = messages.get(call.answer, 0) + rounds
    for link, number, arrival in passed.cursors:
        link.sent = number
        link.last_arrival = arrival
    for label, made in passed.choices.items():
        process.choices_of(label).made = made


def catch_up(
    simulation: "Simulation",
    adapters: Mapping[Process, Adapter],
    found: Sequence[tuple[Process, list[ScheduledExchange], Passed]],
) -> None:
    """Timers are moved and adapters told, in the order in which it would have happened."""
    steps: list[tuple[Time, Time, int, int, int, Callable[[], None]]] = []
    for _, schedule, passed in found:
        for due, created, _, at, _, _ in passed.dues:
            scheduled, span = schedule[at], passed.spans[at]
            if span is not None:
                exchange, order = scheduled.exchange, scheduled.timer[2]
                root = scheduled.timer[3] if exchange.after_end and exchange.calls else CLOCK
                move = partial(_move, scheduled.process, exchange.timer, due)
                steps.append((created, created - exchange.period, order, 0, root, move))
                begun, ended = span
                replay = adapters[scheduled.process].replay_round
                tell = partial(replay, ended, exchange.timer, begun, ReplayOutbox(scheduled.process))
                steps.append((ended, begun, order, 1, root, tell))
        for (receiver, sender, kind, about), came in passed.last.items():
            process = cast(Process, receiver)
            outbox = ReplayOutbox(process)
            hear = partial(adapters[process].replay_messages, came.time, sender, kind, about, outbox)
            steps.append((came.time, came.sent, came.order, 2, came.root, hear))
    steps.sort(key=lambda step: step[:4])
    for simulation.now, _, _, _, simulation.root, step in steps:
        step()


def _move(process: Process, name: TimerName, due: Time) -> None:
    """An exchange's timer is set now, for the first round that is not passed over."""
    simulation = process.simulation
    number = simulation.number = simulation.number + 1
    process.move_timer(name, (due, simulation.now, number, simulation.root, process, name))
