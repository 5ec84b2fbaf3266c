"""Passing over reading that follows what comes (`contract.Flow`), and what knows a node from outside (`adapter_of`)."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify
from math import floor
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from protocols.engine.links import Latency, Link
from protocols.engine.nodes import TICK, Message, Node, Time, TimerName
from protocols.engine.process import CLOCK, Entry, Process
from protocols.load import Production, waits_for_hands
from rocketmq_selfbalance.broker import BrokerNode
from rocketmq_selfbalance.broker.state import HELD
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.fast_forward import contract
from rocketmq_selfbalance.fast_forward.broker import BrokerAdapter
from rocketmq_selfbalance.fast_forward.client import ClientAdapter
from rocketmq_selfbalance.fast_forward.name_server import NameServerAdapter
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage, UpdateConsumerOffset
from rocketmq_selfbalance.nameserver import NameServer

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation


Adapter: TypeAlias = NameServerAdapter | BrokerAdapter | ClientAdapter
"""Of one node, for as long as the node's process runs."""


def adapter_of(node: Node) -> Adapter | None:
    if isinstance(node, Client):
        return ClientAdapter(node)
    if isinstance(node, BrokerNode):
        return BrokerAdapter(node)
    return NameServerAdapter(node) if isinstance(node, NameServer) else None


SHORTEST_MS = 1000.0
"""To pass over less is not worth the while,"""

SHORTEST_OF_CROWD_MS = 200.0
"""or in a crowd less than this, or than brings each flow `WORTH` records."""

WORTH = 2

EVEN_PER_SECOND = 2.0
"""Where fewer records come in, each is told for itself, at its time."""

BUSY = 0.8
"""Where more than this share of a client's hands work on average, every record is simulated."""

CROWD = 32
"""Among so many processes there is nearly always somebody who is not quiescent: he is simulated alone (`_apart`)."""

APART = 4
"""How many queues have to be followed for each client that is simulated alone."""

SETTLING = 2
"""How often a record can be asked for, brought and handled before a disturbance: then all is under way as ever."""


CATCHING_UP = 2
"""So many times as long as it handles what it has fetched a client needs to catch up: more comes meanwhile."""

RESTART_MS = 150.0
"""From where flows are left until they are passed over again, about."""


class Current(NamedTuple):
    """A flow that is alive: its broker runs, is quiescent, is connected without a fault and would answer; an answer can
    bring all that comes in from one to the next; and no record waits longer for a hand than ever."""

    client: Process
    flow: contract.Flow
    link: Link
    """To the broker."""
    production: Production
    """What comes in there."""
    reader: ClientAdapter
    source: BrokerAdapter

    @property
    def number(self) -> int:
        """Of the pull that is under way or held."""
        return _number(self.flow)


class Currents:
    """All flows that are alive, and what belongs to them: messages that are under way, and timers of both sides."""

    def __init__(
        self,
        simulation: "Simulation",
        states: Mapping[str, contract.Quiescence],
        adapters: Mapping[Process, Adapter],
        troubles: contract.Troubles,
    ) -> None:
        """``states`` and ``adapters``: of all processes that run and do not hang."""
        self._simulation, self._states = simulation, states
        self.alive: Sequence[Current] = list(_alive(simulation, states, adapters, troubles))
        self.followed = frozenset([current.client.name for current in self.alive])
        self.apart = _apart(simulation, states, adapters, self.followed)
        self.too_many_apart = APART * len(self.apart) > len(self.alive)
        """They will be fewer soon."""
        self._messages: set[tuple[object, ...]] = set()
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
                forgotten = len(simulation.processes) >= CROWD and _is_forgotten(simulation, adapters, held)
                if forgotten or (name, held.sender, held.pull.correlation) in asked:
                    self._timers.add((name, held.timer))

    def has_message(self, link: Link, message: Message) -> bool:
        if self.apart and type(message) in _PULLS and not self.apart.isdisjoint((link.sender_name, link.receiver.name)):
            return True
        return bool(self._messages) and (link, type(message), *message[:1]) in self._messages

    def has_timer(self, name: str, timer: TimerName) -> bool:
        if self.apart and timer[0] in _OF_READING and (timer[2] if timer[0] == HELD else name) in self.apart:
            return True
        return (name, timer) in self._timers

    def may_go_back(self, kind: type[Message], sender: str) -> bool:
        """Whether a message under way would commit less than what is computed ahead. (In a small group none is under
        way when it is looked at.)"""
        is_crowd = len(self._simulation.processes) >= CROWD
        return is_crowd and kind is UpdateConsumerOffset and bool(self.alive) and sender not in self.apart

    def caught_up(self, horizon: Time) -> Time:
        """When those apart who catch up have done so, if to simulate them from then to the horizon takes more than to
        leave all flows and begin anew; else the horizon."""
        behind = [in_hand for name in self.apart if (in_hand := self._states[name].in_hand)]
        if not self.alive or not behind:
            return horizon
        until = self._simulation.now + max(CATCHING_UP * max(behind), self._shortest + SETTLING * self._circle + TICK)
        again = WORTH * RESTART_MS * len(self.followed)
        return until if (horizon - until) * len(behind) > again else horizon

    def until(self, horizon: Time) -> Time | None:
        """To when all flows may go on, a while before the horizon; None where that is not worth the while."""
        if not self.alive:
            return None
        until = floor((horizon - SETTLING * self._circle) / TICK) * TICK
        return None if until - self._simulation.now < self._shortest else until

    @property
    def _shortest(self) -> Time:
        """To pass over less is not worth the while."""
        shortest = SHORTEST_MS
        if len(self._simulation.processes) >= CROWD:
            per_second = sum([current.production.per_second for current in self.alive])
            shortest = min(shortest, max(SHORTEST_OF_CROWD_MS, WORTH * len(self.alive) / per_second * 1000))
        return max(shortest, SETTLING * self._circle)

    @property
    def _circle(self) -> Time:
        """In so many milliseconds any record that has come is brought and handled, and the next one asked for: the same
        for all, so that queues whose records come together are left at the same record, in the order of their pulls."""
        return 2 * self._simulation.latency.most + max(current.flow.delay for current in self.alive)

    def pass_over(self, until: Time) -> None:
        """Let all flows go on to this time."""
        simulation = self._simulation
        latency, since = simulation.latency, simulation.now
        travel, circle = (latency.least + latency.most) / 2, self._circle
        taken = self._take_back()
        self.alive = [_telling(current, taken) for current in self.alive]
        steps: list[tuple[Time, Time, int, Current, contract.Stretch]] = []
        for at, current in enumerate(self.alive):
            current.source.told.clear()
            stretches = list(_stretches(current, since, until, travel, circle))
            steps += [(stretch.until, stretch.came, at, current, stretch) for stretch in stretches]
            answered = (current.link.back, PullAnswer, current.number) in taken
            self._count(current, stretches[-1], answered=answered)
        steps.sort(key=itemgetter(0, 1, 2))
        simulation.root = CLOCK
        for simulation.now, _, _, (client, _, link, _, reader, source), stretch in steps:
            reader.replay_reading(stretch.until, stretch, contract.ReplayOutbox(client, tells=True))
            out = contract.ReplayOutbox(cast(Process, link.receiver), tells=True)
            source.replay_reader(stretch.until, client.name, stretch, out)
        simulation.now = since

    def _count(self, current: Current, last: contract.Stretch, *, answered: bool) -> None:
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

    def _take_back(self) -> "_Taken":
        """What is under way will not arrive: link, type and number to when each would have, and the message."""
        heap = self._simulation.heap
        left: list[Entry] = []
        taken: _Taken = {}
        for entry in heap:
            link, message = entry[4], entry[5]
            if type(link) is Link and (key := (link, type(message), *message[:1])) in self._messages:
                taken[key] = entry[0], message
            else:
                left.append(entry)
        if taken:
            heap[:] = left
            heapify(heap)
        return taken


_Taken: TypeAlias = dict[tuple[object, ...], tuple[Time, Any]]


def _telling(current: Current, taken: _Taken) -> Current:
    """With what its pull tells that is yet to arrive."""
    due, pull = taken.get((current.link, PullMessage, current.number), (0.0, None))
    if pull is None or pull.commit_offset is None:
        return current
    return current._replace(flow=current.flow._replace(tells=(due, pull.commit_offset)))


def _is_forgotten(simulation: "Simulation", adapters: Mapping[Process, Adapter], held: contract.Held) -> bool:
    """Whether the client that sent this pull does not wait for its answer any more: the queue is another's now."""
    sender = simulation.processes.get(held.sender)
    adapter = None if sender is None else adapters.get(sender)
    return isinstance(adapter, ClientAdapter) and not adapter.waits_for(held.pull)


_PULLS = frozenset({PullMessage, PullAnswer})
_OF_READING = frozenset({"consumed", "pull", "pull timeout", HELD})


def _apart(
    simulation: "Simulation",
    states: Mapping[str, contract.Quiescence],
    adapters: Mapping[Process, Adapter],
    followed: frozenset[str],
) -> frozenset[str]:
    """Clients of a crowd whose reading is simulated while that of others is passed over, and disturbs nobody: they
    catch up, or have begun or ended a moment ago. In a small group somebody else's reading costs too little for that.
    """
    if not followed or len(simulation.processes) < CROWD:
        return frozenset()
    if any(isinstance(each, BrokerAdapter) and each.has_resets for each in adapters.values()):
        return frozenset()
    return frozenset([name for name, state in states.items() if state.reads_alone and name not in followed])


def _stretches(current: Current, since: Time, until: Time, travel: Time, circle: Time) -> Iterator[contract.Stretch]:
    """The flow from now on to about ``until``: in one, or where few records come in one for each. ``circle``:
    `Currents._circle`."""
    flow, production = current.flow, current.production
    late = travel + flow.delay
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
            yield contract.Stretch(flow, production, last, handled, travel, record + 1, False, held)
            last = handled
    yield contract.Stretch(flow, production, last, until, travel, position, True, held)


def _alive(
    simulation: "Simulation",
    states: Mapping[str, contract.Quiescence],
    adapters: Mapping[Process, Adapter],
    troubles: contract.Troubles,
) -> Iterator[Current]:
    for name, state in states.items():
        groups: dict[str, list[Current | None]] = {}
        # In the order of their pulls: a connection does not change it, so that what comes together at all of these
        # queues comes to the client in this order again and again.
        for flow in sorted(state.flows, key=_number):
            current = _current(simulation, adapters, name, flow, troubles)
            if current is not None or flow.done < flow.pull.offset:
                groups.setdefault(flow.pull.group, []).append(current)
        for found in groups.values():
            currents = [current for current in found if current is not None]
            if len(currents) == len(found):  # else something waits for a hand of which nobody knows how long
                yield from _waiting(currents, simulation.latency, simulation.now)


def _number(flow: contract.Flow) -> int:
    return flow.pull.correlation


def _waiting(currents: Sequence[Current], latency: Latency, now: Time) -> Sequence[Current]:
    """The flows of a group at a client, which share its hands, with the time for which records wait for one; none where
    the hands have too much to do for that, or more than ever."""
    flow, rates = currents[0].flow, [current.production.per_second for current in currents]
    if not flow.handle:
        return currents
    if sum(rates) * flow.handle / 1000 > BUSY * flow.hands:
        return ()
    coming = [(current.production, current.flow.done) for current in currents]
    waits = waits_for_hands(coming, flow.handle, flow.hands)
    found = [
        current._replace(flow=current.flow._replace(wait=wait)) for current, wait in zip(currents, waits, strict=True)
    ]
    longest = 2 * latency.most + flow.handle + max(waits)
    for current in found:
        done = current.flow.done
        if done < current.flow.pull.offset and now - current.production.arrival(done) > longest:
            return ()
    return found


def _current(
    simulation: "Simulation",
    adapters: Mapping[Process, Adapter],
    name: str,
    flow: contract.Flow,
    troubles: contract.Troubles,
) -> Current | None:
    """The flow with what it runs along; None where it is not alive."""
    client = simulation.processes[name]
    link = client.links.get(flow.broker)
    if (
        link is None
        or link.receiver is not simulation.processes.get(flow.broker)
        or not contract.is_sound(link)
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
