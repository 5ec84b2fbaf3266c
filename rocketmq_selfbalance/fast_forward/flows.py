"""Passing over reading that follows what comes in: the flows of `rocketmq_selfbalance.fast_forward.contract`."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify
from math import floor
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from protocols.engine.links import Latency, Link
from protocols.engine.nodes import TICK, Message, Time, TimerName
from protocols.engine.process import CLOCK, Process
from protocols.load import Production
from rocketmq_selfbalance.fast_forward.adapters import Adapter
from rocketmq_selfbalance.fast_forward.around import ReplayOutbox, Troubles, is_sound
from rocketmq_selfbalance.fast_forward.broker import BrokerAdapter
from rocketmq_selfbalance.fast_forward.client import ClientAdapter
from rocketmq_selfbalance.fast_forward.contract import Flow, Quiescence, Stretch
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation

SHORTEST_MS = 1000.0
"""To pass over less is not worth the while."""

EVEN_PER_SECOND = 2.0
"""Where fewer records come in, each is told for itself, at its time."""

SETTLING = 2
"""How often a record can be asked for, brought and handled before a disturbance: then all is under way as ever."""


class Current(NamedTuple):
    """A flow that is alive: its broker runs, is quiescent, is connected without a fault and would answer; an answer can
    bring all that comes in from one to the next; and there is always a hand free for a record."""

    client: Process
    flow: Flow
    link: Link
    """To the broker."""
    production: Production
    """What comes in there."""
    reader: ClientAdapter
    source: BrokerAdapter

    @property
    def number(self) -> int:
        """Of the pull that is under way or held."""
        return self.flow.pull.correlation


class Currents:
    """All flows that are alive, and what belongs to them: messages that are under way, and timers of both sides."""

    __slots__ = ("_messages", "_sent", "_simulation", "_timers", "alive")

    def __init__(
        self,
        simulation: "Simulation",
        states: Mapping[str, Quiescence],
        adapters: Mapping[Process, Adapter],
        troubles: Troubles,
    ) -> None:
        """``states`` and ``adapters``: of all processes that run and do not hang."""
        self._simulation = simulation
        self.alive: Sequence[Current] = list(_alive(simulation, states, adapters, troubles))
        self._messages: set[tuple[Any, ...]] = set()
        """Link, type and number of the messages."""
        self._sent: list[tuple[Link, int]] = []
        """How many were passed over on a link."""
        self._timers: set[tuple[str, TimerName]] = set()
        if not self.alive:
            return
        asked: set[tuple[str, str, int]] = set()
        for current in self.alive:
            client, flow, link = current[:3]
            self._messages |= {(link, PullMessage, current.number), (link.back, PullAnswer, current.number)}
            self._timers.update([(client.name, timer) for timer in flow.timers])
            asked.add((flow.broker, client.name, current.number))
        for name, state in states.items():
            for held in state.held:
                if (name, held.sender, held.pull.correlation) in asked:
                    self._timers.add((name, held.timer))

    def has_message(self, link: Link, message: Message) -> bool:
        """Whether what is under way there belongs to a flow."""
        return bool(self._messages) and (link, type(message), *message[:1]) in self._messages

    def has_timer(self, name: str, timer: TimerName) -> bool:
        """Whether the timer of this process belongs to flows alone."""
        return (name, timer) in self._timers

    def pass_over(self, horizon: Time) -> bool:
        """Let all flows go on to a while before the horizon; False where that is not worth the while."""
        simulation = self._simulation
        if not self.alive:
            return False
        latency, since = simulation.latency, simulation.now
        circle = 2 * latency.most + max(current.flow.delay for current in self.alive)
        until = floor((horizon - SETTLING * circle) / TICK) * TICK
        if until - since < max(SHORTEST_MS, SETTLING * circle):
            return False
        taken = self._take_back()
        steps: list[tuple[Time, int, Current, Stretch]] = []
        ends: list[Time] = []
        for at, current in enumerate(self.alive):
            stretches = list(_stretches(current, since, until, latency))
            steps += [(stretch.until, at, current, stretch) for stretch in stretches]
            answered = (current.link.back, PullAnswer, current.number) in taken
            self._count(current, stretches[-1], answered=answered)
            ends.append(stretches[-1].until)
        steps.sort(key=itemgetter(0, 1))
        # What a flow that ended first does then comes before what others did until they ended.
        first = min(ends)
        simulation.root = CLOCK
        for simulation.now, _, (client, _, link, _, reader, source), stretch in steps:
            later = stretch.until > first
            reader.replay_reading(stretch.until, stretch, ReplayOutbox(client, tells=True, later=later))
            out = ReplayOutbox(cast(Process, link.receiver), tells=True, later=later)
            source.replay_reader(stretch.until, client.name, stretch, out)
        simulation.now = since
        return True

    def _count(self, current: Current, last: Stretch, *, answered: bool) -> None:
        """A pull and its answer for each record, or as many as have the time. ``answered``: the first answer was under
        way, and so counted, already. Where none is held in the end, the client sends the last pull itself."""
        link = current.link
        requests = last.position - current.flow.pull.offset
        if last.travel:
            requests = min(requests, floor((last.until - self._simulation.now) / (2 * last.travel)))
        messages = self._simulation.messages
        sent: tuple[tuple[type[Message], Link, int], ...] = (
            (PullMessage, link, requests if last.held else requests - 1),
            (PullAnswer, link.back, requests - answered),
        )
        for kind, on, count in sent:
            if count > 0:
                messages[kind] = messages.get(kind, 0) + count
                self._sent.append((on, count))

    def draw(self) -> None:
        """The latencies of all that was passed over are drawn: what comes after has those that it would have had."""
        for link, messages in self._sent:
            link.sent += messages

    def _take_back(self) -> set[tuple[Any, ...]]:
        """What is under way will not arrive. Link, type and number of all that was."""
        heap = self._simulation.heap
        left, taken = [], set()
        for entry in heap:
            link, message = entry[4], entry[5]
            if type(link) is Link and self.has_message(link, message):
                taken.add((link, type(message), message[0]))
            else:
                left.append(entry)
        if taken:
            heap[:] = left
            heapify(heap)
        return taken


def _stretches(current: Current, since: Time, until: Time, latency: Latency) -> Iterator[Stretch]:
    """The flow from now on to about ``until``: in one, or where few records come in one for each."""
    flow, production = current.flow, current.production
    travel = (latency.least + latency.most) / 2
    late, circle = travel + flow.delay, 2 * latency.most + flow.delay
    held = circle * production.per_second < 1000
    if held:
        position = max(flow.done, production.end_offset(until))
        came = production.arrival(position - 1) if position > flow.done else since
        if came + circle > until and position > flow.done:
            # The last one may be under way or in hand: it is yet to come.
            position, until = position - 1, came - TICK
    else:
        position = max(flow.done, production.end_offset(until - late))
    last = since
    if production.per_second < EVEN_PER_SECOND:
        for record in range(flow.done, position):
            handled = min(max(production.arrival(record) + late, last), until)
            yield Stretch(flow, production, last, handled, travel, record + 1, False, held)
            last = handled
    yield Stretch(flow, production, last, until, travel, position, True, held)


def _alive(
    simulation: "Simulation",
    states: Mapping[str, Quiescence],
    adapters: Mapping[Process, Adapter],
    troubles: Troubles,
) -> Iterator[Current]:
    for name, state in states.items():
        found: list[Current] = []
        work: dict[str, float] = {}
        for flow in state.flows:
            current = _current(simulation, adapters, name, flow, troubles)
            if current is not None:
                found.append(current)
                group, share = flow.pull.group, current.production.per_second * flow.delay / 1000
                work[group] = work.get(group, 0.0) + share
        for current in found:
            if work[current.flow.pull.group] <= current.flow.hands:
                yield current


def _current(
    simulation: "Simulation", adapters: Mapping[Process, Adapter], name: str, flow: Flow, troubles: Troubles
) -> Current | None:
    """The flow with what it runs along; None where it is not alive."""
    client = simulation.processes[name]
    link = client.links.get(flow.broker)
    if (
        link is None
        or link.receiver is not simulation.processes.get(flow.broker)
        or not is_sound(link)
        or troubles.may_wait_in_vain(link, simulation.now, flow.within)
    ):
        return None
    reader, source = adapters[client], adapters.get(link.receiver)
    if not isinstance(reader, ClientAdapter) or not isinstance(source, BrokerAdapter):
        return None
    production = source.production(simulation.now, name, flow.pull)
    if production is None or production.per_second * 2 * simulation.latency.most / 1000 >= flow.pull.max_messages:
        return None
    return Current(client, flow, link, production, reader, source)
