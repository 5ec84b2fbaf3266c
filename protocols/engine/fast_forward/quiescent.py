"""All nodes are quiescent: which exchanges are alive, and what disturbs them first (see `contract`)."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from protocols.engine.fast_forward.adapters import Adapter
from protocols.engine.fast_forward.contract import Call, Exchange, Held, Judge, Quiescence
from protocols.engine.fast_forward.flows import Currents
from protocols.engine.fast_forward.scheduled import Passed, ScheduledExchange
from protocols.engine.fast_forward.streams import Stream, Streams
from protocols.engine.fast_forward.trouble import Troubles
from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import CLOCK, Entry, Happening, Process

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation


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
        cls,
        simulation: "Simulation",
        adapter_of: Callable[[Process], Adapter | None],
        first: str,
        troubles: Troubles,
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
            under_way = False
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
        """Sender to those of its requests that others hold, and that will be repeated. They are computed with what it
        does itself: both use the same links."""
        found: dict[str, list[ScheduledExchange]] = {}
        for name, state in self.states.items():
            process = self.simulation.processes[name]
            links: dict[tuple[str, type[Message]], tuple[tuple[Link, ...], ...] | None] = {}
            for held in state.held:
                timer, sender = process.timers.get(held.timer), held.sender
                if timer is None or not held.repeats or currents.has_timer(name, held.timer):
                    continue
                pair = sender, held.answer
                if pair not in links:
                    links[pair] = self._held_links(process, held)
                way = links[pair]
                if way is not None and self.states[sender].harmless[name, held.answer].get(held.about) == held.request:
                    call = Call((sender,), held.answer, type(held.request))
                    exchange = Exchange(held.timer, held.hold, (call,), after_end=True, about=held.about)
                    found.setdefault(sender, []).append(ScheduledExchange(exchange, timer, way, process))
        return found

    def _held_links(self, process: Process, held: Held) -> tuple[tuple[Link, ...], ...] | None:
        """From who holds requests to their sender; None where the rounds would not go on."""
        link = process.links.get(held.sender)
        state = self.states.get(held.sender)
        if (
            link is None
            or state is None
            or (process.name, held.answer) not in state.harmless
            or (held.sender, type(held.request)) not in self.states[process.name].harmless
            or link.receiver is not self.simulation.processes.get(held.sender)
            or not (link.open and link.back.open)
            or link.fault is not None
            or link.back.fault is not None
        ):
            return None
        return ((link,),)

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
            yield state.until
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
                kind, receiver = type(what), cast(Process, place.receiver)
                adapter = self.adapters.get(receiver)
                judge = None if adapter is None else adapter.judges.get(kind)
                if judge is None:
                    if not streams.has(place.sender.name, receiver.name, kind):
                        yield due
                    continue
                follows = judge(self.simulation.now, place.sender_name, what) if place.open else None
                if follows is None:
                    yield due
                else:
                    to_receiver = place.sender_name, receiver.name
                    sender, to = to_receiver if follows.kind is kind else to_receiver[::-1]
                    stream = Stream(due + follows.after, self.simulation.latency.most, follows.period)
                    streams.add(sender, to, follows.kind, stream)
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
            or not (link.open and link.back.open)
            or link.fault is not None
            or link.back.fault is not None
            or any(process.name in each.peers for exchange in state.exchanges for each in exchange.calls)
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
