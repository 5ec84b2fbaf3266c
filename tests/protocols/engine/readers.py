"""A small system whose nodes read what comes in (`contract.Flow`), and their adapters: a store, and readers.

A reader asks for the records from where it stands, handles what it gets for a while and asks at once for more, telling
how far it has come. The store holds a question until there is something to answer.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS, Adapters, FlowReader, FlowSource
from protocols.engine.fast_forward.contract import Flow, Held, Quiescence, Stretch
from protocols.engine.fast_forward.outbox import ReplayOutbox
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.facts import Delivered
from protocols.java import Queue
from protocols.load import Production

MOST = 32
QUEUE = Queue("topic", "store", 0)


class Ask(NamedTuple):
    number: int
    offset: int
    handled: int


class Found(NamedTuple):
    number: int
    end: int


class Rate(NamedTuple):
    """The operator's: from now on so many records come per second."""

    per_second: float


class Store:
    """One queue. ``told`` is how far each reader said it was."""

    def __init__(self, per_second: float) -> None:
        self.production = Production(per_second)
        self.held: dict[str, Ask] = {}
        self.told: dict[str, int] = {}

    def start(self, now: Time, out: Outbox) -> None: ...

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if sender == OPERATOR:
            self.production = Production(message[0], now, self.production.end_offset(now))
            for reader in self.held:
                self._answer(now, reader, out)
        else:
            assert isinstance(message, Ask)
            self.told[sender], self.held[sender] = message.handled, message
            self._answer(now, sender, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self._answer(now, timer, out)

    def _answer(self, now: Time, reader: str, out: Outbox) -> None:
        ask, end = self.held[reader], self.production.end_offset(now)
        if end > ask.offset:
            out.send(reader, Found(ask.number, min(end, ask.offset + MOST)))
            self.held[reader] = ask._replace(number=-1)
            out.cancel_timer(reader)
        elif self.production.per_second:
            out.set_timer(reader, self.production.arrival(end))

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.held.pop(peer, None)
        out.cancel_timer(peer)


class Reader:
    """``handle``: how long it takes for what an answer brings."""

    def __init__(self, name: str, handle: Time) -> None:
        self.name, self.handle = name, handle
        self.number = self.offset = self.handled = 0
        self.asks = 0

    def start(self, now: Time, out: Outbox) -> None:
        self._ask(out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        first, self.offset = self.offset, message[1]
        if self.handle:
            out.set_timer((first, self.offset), now + self.handle)
        else:
            self.tell_handled(now, first, self.offset, now, out)
        self._ask(out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == "again":
            self._ask(out)
        else:
            self.tell_handled(now, *timer, now - self.handle, out)

    def _ask(self, out: Outbox) -> None:
        self.number += 1
        self.asks += 1
        out.send("store", Ask(self.number, self.offset, self.handled))

    def tell_handled(self, now: Time, first: int, end: int, since: Time, out: Outbox) -> None:
        self.handled = end
        out.observe(Delivered("g", self.name, QUEUE, first, end, since))

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None: ...


class StoreAdapter:
    """A store holds questions and leads readers who keep up."""

    judges = NO_JUDGEMENTS
    reader: FlowReader | None = None

    def __init__(self, store: Store) -> None:
        self.store = store
        self.source: FlowSource | None = self

    def quiescence(self, now: Time) -> Quiescence:
        held = [Held(reader, reader, ask, Found, 0.0, repeats=False) for reader, ask in self.store.held.items()]
        return Quiescence(held=held)

    def production(self, now: Time, sender: str, request: Message) -> Production | None:
        production = self.store.production
        return production if production.per_second and production.end_offset(now) - request[1] <= MOST else None

    def replay_reader(self, now: Time, sender: str, stretch: Stretch, out: ReplayOutbox) -> None:
        store = self.store
        store.told[sender] = max(store.told[sender], stretch.told_at(now))
        out.cancel_timer(sender)
        if stretch.held:
            store.held[sender] = Ask(stretch.flow.request[0], stretch.position, 0)
            out.set_timer(sender, store.production.arrival(stretch.position))

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None: ...

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None: ...


class ReaderAdapter:
    """A reader asks again and again."""

    judges = NO_JUDGEMENTS
    source: FlowSource | None = None

    def __init__(self, reader: Reader) -> None:
        self.node = reader
        self.reader: FlowReader | None = self

    def quiescence(self, now: Time) -> Quiescence:
        node = self.node
        ask = Ask(node.number, node.offset, node.handled)
        timers = [(node.handled, node.offset)] if node.handled < node.offset else []
        told = (float("inf"), 1.0)
        return Quiescence(
            flows=(Flow("store", ask, Found, node.offset, node.handled, node.handle, MOST, timers, told),)
        )

    def replay_reading(self, now: Time, stretch: Stretch, out: ReplayOutbox) -> None:
        node = self.node
        out.cancel_timer((node.handled, node.offset))
        if stretch.position > node.handled:
            node.tell_handled(now, node.handled, stretch.position, stretch.handling_since(node.handled), out)
        node.offset = stretch.position
        if stretch.last and not stretch.held:
            out.set_timer("again", now)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None: ...

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None: ...


ADAPTERS: Final[Adapters] = {Store: StoreAdapter, Reader: ReaderAdapter}
