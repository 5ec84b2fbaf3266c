"""All nodes are quiescent: which exchanges are alive, and what disturbs them first (see `contract`); the messages that
come again and again meanwhile, and until when they renew what runs out without them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import CLOCK, Entry, Happening, Process
from rocketmq_selfbalance.fast_forward.broker import BrokerAdapter
from rocketmq_selfbalance.fast_forward.client import ClientAdapter
from rocketmq_selfbalance.fast_forward.contract import Call, Exchange, Judge, Quiescence, Troubles, is_sound
from rocketmq_selfbalance.fast_forward.flows import CROWD, Adapter, Currents
from rocketmq_selfbalance.fast_forward.scheduled import Passed, ScheduledExchange
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation


class Stream(NamedTuple):
    """Messages of one type from one process to another."""

    due: Time
    """When the next one is due; an answer may come at any time."""
    travel: Time
    """It comes so much later at the latest, in milliseconds."""
    period: Time


_ANSWERS = Stream(-inf, 0.0, 0.0)
"""They come soon enough (`rocketmq_selfbalance.fast_forward.contract.Exchange.within`)."""


class Streams:
    """All that flows while exchanges are alive."""

    def __init__(self, alive: Mapping[str, Sequence[ScheduledExchange]], most: Time) -> None:
        """``alive``: process to its exchanges; ``most``: how long a message travels, in milliseconds."""
        self._found: dict[tuple[str, str, type[Message]], Stream] = {}
        """Sender, receiver and type."""
        found = self._found
        for schedule in alive.values():
            for scheduled in schedule:
                name, exchange = scheduled.process.name, scheduled.exchange
                calls = exchange.calls
                if not calls:
                    continue
                travel = most * (2 * len(calls) - 1 if exchange.in_turn else 1)
                stream = Stream(scheduled.timer[0], travel, exchange.period)
                for before, call in zip((None, *calls), calls, strict=False):
                    for peer in () if call is before else call.peers:
                        key = name, peer, call.request
                        found[key] = min(stream, found.get(key, stream))
                        if call.answer is not None:
                            found[peer, name, call.answer] = _ANSWERS

    def add(self, sender: str, receiver: str, kind: type[Message], stream: Stream) -> None:
        key = sender, receiver, kind
        self._found[key] = min(stream, self._found.get(key, stream))

    def has(self, sender: str, receiver: str, kind: type[Message]) -> bool:
        return (sender, receiver, kind) in self._found

    def runs_out(
        self, now: Time, at: Time, sender: str, receiver: str, kind: type[Message], length: Time | None = None
    ) -> Time:
        """What each of these messages renews for ``length``, and what runs out at ``at`` as it stands: when it may run
        out, if ever. Where it is not known for how long, it is no less than what is left of it now.
        """
        stream = self._found.get((sender, receiver, kind))
        if stream is None or at <= stream.due + stream.travel:
            return at
        left = at - now if length is None else length
        return inf if left > stream.period + stream.travel else stream.due + left


class Active(NamedTuple):
    """Who is not quiescent or cannot tell, and how many were asked until one was found."""

    name: str
    asked: int


class QuiescentWorld(NamedTuple):
    """All nodes are quiescent."""

    simulation: "Simulation"
    states: dict[str, Quiescence]
    """Of the processes that run and do not hang."""
    adapters: dict[Process, Adapter]
    """Theirs."""
    troubles: Troubles

    @classmethod
    def of(
        cls, simulation: "Simulation", adapter_of: Callable[[Process], Adapter | None], first: str, troubles: Troubles
    ) -> "QuiescentWorld | Active":
        """One who is not quiescent, if there is one; ``first`` is asked first."""
        states: dict[str, Quiescence] = {}
        adapters: dict[Process, Adapter] = {}
        processes = simulation.processes
        # Who started last is the first to be active; servers, who have most to tell, are asked in the end.
        for process in [*([processes[first]] if first in processes else []), *reversed(processes.values())]:
            if not process.hung:
                adapter = adapter_of(process)
                state = None if adapter is None else adapter.quiescence(simulation.now)
                if state is None and isinstance(adapter, ClientAdapter) and len(processes) >= CROWD:
                    state = adapter.aside()
                if adapter is None or state is None:
                    return Active(process.name, len(states) + 1)
                states[process.name] = state
                adapters[process] = adapter
        return cls(simulation, {name: states[name] for name in processes if name in states}, adapters, troubles)

    def alive(self, currents: Currents) -> tuple[dict[str, list[ScheduledExchange]], set[str]] | Active:
        """Process to its exchanges that are alive; those processes of which messages are under way. One who is not
        quiescent as its peers do not agree, if there is one."""
        carrying = self._carrying(currents)
        held = self._held_exchanges(currents)
        alive: dict[str, list[ScheduledExchange]] = {}
        busy: set[str] = set()
        for name, state in self.states.items():
            process = self.simulation.processes[name]
            schedule: list[ScheduledExchange] = []
            waiting: list[ScheduledExchange] = []
            # While somebody reads on for himself, which offsets brokers write is not known ahead.
            under_way = name in currents.apart or (
                bool(currents.apart) and isinstance(self.adapters[process], BrokerAdapter)
            )
            for exchange in state.exchanges:
                links = self._links(process, exchange)
                if links is None:
                    if exchange.vital:
                        return Active(name, len(self.states))
                    continue
                under_way = under_way or self._is_under_way(links, carrying)
                timer = process.timers.get(exchange.timer, _NEVER)
                (waiting if exchange.awaiting else schedule).append(ScheduledExchange(exchange, timer, links, process))
            for scheduled in held.get(name, ()):
                under_way = under_way or self._is_under_way(scheduled.links, carrying)
                schedule.append(scheduled)
            if under_way:
                # What is awaited will come.
                busy.add(name)
                schedule += waiting
            alive[name] = [scheduled for scheduled in schedule if scheduled.timer is not _NEVER or under_way]
        return alive, busy

    def _is_under_way(self, links: tuple[tuple[Link, ...], ...], carrying: set[Link] | None) -> bool:
        """Whether a message is, on one of these links or back."""
        if carrying is None:
            now = self.simulation.now
            return any(link.last_arrival >= now or link.back.last_arrival >= now for each in links for link in each)
        return bool(carrying) and any(link in carrying or link.back in carrying for each in links for link in each)

    def _held_exchanges(self, currents: Currents) -> dict[str, list[ScheduledExchange]]:
        """Sender to those of its pulls that brokers hold, and that will be repeated. They are computed with what it
        does itself: both use the same links."""
        held_exchanges: dict[str, list[ScheduledExchange]] = {}
        for name, state in self.states.items():
            process = self.simulation.processes[name]
            links: dict[str, Link | None] = {}
            for held in state.held:
                timer, sender = process.timers.get(held.timer), held.sender
                if timer is None or not held.repeats or currents.has_timer(name, held.timer):
                    continue
                if sender not in links:
                    links[sender] = self._held_link(process, sender)
                link = links[sender]
                if link is not None and self.states[sender].harmless[name, PullAnswer].get(held.about) == held.pull:
                    call = Call((sender,), PullAnswer, PullMessage)
                    exchange = Exchange(
                        held.timer, held.pull.suspend_ms, (call,), in_turn=True, after_end=True, about=held.about
                    )
                    held_exchanges.setdefault(sender, []).append(
                        ScheduledExchange(exchange, timer, ((link,),), process)
                    )
        return held_exchanges

    def _held_link(self, broker: Process, sender: str) -> Link | None:
        """From the broker that holds pulls to their sender; None where the rounds would not go on."""
        link = broker.links.get(sender)
        state = self.states.get(sender)
        if (
            link is None
            or state is None
            or (broker.name, PullAnswer) not in state.harmless
            or (sender, PullMessage) not in self.states[broker.name].harmless
            or link.receiver is not self.simulation.processes.get(sender)
            or not is_sound(link)
        ):
            return None
        return link

    def _carrying(self, currents: Currents) -> set[Link] | None:
        """The links with messages under way that do not belong to flows; None where there are no flows, so that the
        links' last arrivals tell it."""
        if not currents.alive:
            return None
        return {
            place
            for _, _, _, _, place, what in self.simulation.heap
            if type(place) is Link and not currents.has_message(place, what)
        }

    def disturbance(self, alive: dict[str, list[ScheduledExchange]], currents: Currents) -> Time:
        """When something happens that is not quiet: at the latest the run ends, which is an entry of the heap."""
        streams = Streams(alive, self.simulation.latency.most)
        others = list(self._loud(streams, currents))
        timers = self._loud_timers(alive, streams, currents)
        return min(min(timers, default=inf), min(others, default=inf))

    def _loud_timers(
        self, alive: dict[str, list[ScheduledExchange]], streams: Streams, currents: Currents
    ) -> Iterator[Time]:
        now, processes = self.simulation.now, self.simulation.processes
        quiet = {
            (scheduled.process.name, scheduled.exchange.timer) for schedule in alive.values() for scheduled in schedule
        }
        for name, state in self.states.items():
            for timer, entry in processes[name].timers.items():
                if (name, timer) not in quiet and timer not in state.idle and not currents.has_timer(name, timer):
                    guard = state.guarded.get(timer)
                    if guard is None or self.troubles.lost_since(processes[name], guard.sender, entry[1]):
                        yield entry[0]
                    else:
                        yield streams.runs_out(now, entry[0], guard.sender, name, guard.kind, guard.length)
            for (sender, kind), at in state.missed.items():
                yield streams.runs_out(now, at, sender, name, kind)

    def _loud(self, streams: Streams, currents: Currents) -> Iterator[Time]:
        """Entries of the heap that are no timers. Of those that are not loud, what follows of them flows, too."""
        for due, _, _, _, place, what in self.simulation.heap:
            if type(place) is Link:
                if place.receiver.hung or place.shut or currents.has_message(place, what):
                    continue
                kind, sender, receiver = type(what), place.sender_name, place.receiver.name
                adapter = self.adapters.get(cast(Process, place.receiver))
                judge = None if adapter is None else adapter.judges.get(kind)
                if judge is None:
                    if not streams.has(sender, receiver, kind) or currents.may_go_back(kind, sender):
                        yield due
                    continue
                follows = judge(self.simulation.now, sender, what) if place.open else None
                if follows is None:
                    yield due
                else:
                    broker, client = (sender, receiver) if kind is PullAnswer else (receiver, sender)
                    stream = Stream(due + follows.after, self.simulation.latency.most, follows.period)
                    streams.add(broker, client, PullAnswer, stream)
            elif type(place) is not Process:
                yield due

    def _links(self, process: Process, exchange: Exchange) -> tuple[tuple[Link, ...], ...] | None:
        """Of each call to each peer; None where the exchange is not alive."""
        if exchange.within <= 2 * self.simulation.latency.most:
            return None
        found: list[tuple[Link, ...]] = []
        for before, call in zip((None, *exchange.calls), exchange.calls, strict=False):
            if call is before:
                found.append(found[-1])
                continue
            links = []
            for peer in call.peers:
                link = self._link(process, exchange, call, peer)
                if link is None:
                    return None
                links.append(link)
            found.append(tuple(links))
        return tuple(found)

    def _link(self, process: Process, exchange: Exchange, call: Call, peer: str) -> Link | None:
        link = process.links.get(peer)
        state, own, about = self.states.get(peer), self.states[process.name], exchange.about
        known: Any = _NOTHING if state is None else state.harmless.get((process.name, call.request), _NOTHING)
        if (
            link is None
            or state is None
            or known is _NOTHING
            or link.receiver is not self.simulation.processes.get(peer)
            or not is_sound(link)
            or not _agree(known if about is None else known.get(about, _NOTHING), call.claim)
            or (call.answer is not None and (peer, call.answer) not in own.harmless)
            or (call.answer is not None and self.troubles.may_wait_in_vain(link, self.simulation.now, exchange.within))
        ):
            return None
        return link

    def check_guards(self, found: Sequence[tuple[Process, list[ScheduledExchange], Passed]]) -> None:
        """Raises `RuntimeError` where a node did not move a timer that a message would have moved."""
        came: dict[tuple[str, str, type[Message]], Time] = {}
        for _, _, passed in found:
            for (receiver, sender, kind, _), last in passed.last.items():
                stream = receiver.name, sender, kind
                came[stream] = max(last.time, came.get(stream, 0.0))
        for name, state in self.states.items():
            timers = self.simulation.processes[name].timers
            for timer, guard in state.guarded.items():
                at = came.get((name, guard.sender, guard.kind))
                if at is not None and timer in timers and timers[timer][0] <= at:
                    raise RuntimeError(
                        f"{name} has not moved its timer {timer!r} when {guard.kind.__name__} was passed"
                    )


def _agree(known: Any, claim: Any) -> bool:
    return known.agrees(claim) if type(known) is Judge else bool(known == claim)


_NOTHING = object()

_NEVER: Entry = (0.0, 0.0, 0, CLOCK, Happening(print), None)
"""The timer of an exchange that is not set."""
