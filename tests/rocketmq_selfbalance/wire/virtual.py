"""Served nodes in virtual time: clients' bytes in, bytes for clients out, no socket; nodes reach each other at once."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar

from protocols.engine.connection import Conversation
from protocols.engine.nodes import Message, Node, Time, TimerName
from rocketmq_selfbalance.remoting import Frame, decode

T = TypeVar("T")


class Place:
    """One node and its clients; its outbox."""

    def __init__(self, world: "Virtual", name: str, node: Any, make: Callable[[str], Conversation]) -> None:
        self.world, self.name, self.node, self.make = world, name, node, make
        self.conversations: dict[str, Conversation] = {}
        self.timers: dict[TimerName, Time] = {}
        self.said: dict[str, list[Frame]] = {}
        """Client to the frames written to it and not yet taken."""

    def send(self, to: str, message: Message) -> None:
        if to in self.world.places:
            self.world.places[to].node.receive(self.world.now, self.name, message, self.world.places[to])
        elif to in self.conversations:
            raw = b"".join(self.conversations[to].encode(message))
            if raw:
                assert int.from_bytes(raw[:4]) == len(raw) - 4
                self.said.setdefault(to, []).append(decode(raw[4:]))

    def close(self, peer: str) -> None:
        self.conversations.pop(peer, None)

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.timers[name] = at
        heappush(self.world.due, (at, next(self.world.numbers), self, name))

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[Any, ...]) -> None:
        self.world.facts.append((self.world.now, fact))

    def choose(self, label: str, options: Sequence[T]) -> T:
        return options[0]

    def new_id(self, prefix: str) -> str:
        return f"{prefix}-{next(self.world.numbers)}"

    def connect(self, peer: str) -> None:
        self.conversations[peer] = self.make(peer)
        self.node.connected(self.world.now, peer, self)

    def disconnect(self, peer: str) -> None:
        if self.conversations.pop(peer, None) is not None:
            self.node.closed(self.world.now, peer, self)

    def read(self, peer: str, data: bytes) -> None:
        """Bytes come from a client."""
        conversation = self.conversations[peer]
        conversation.feed(data)
        while (message := conversation.next()) is not None:
            self.node.receive(self.world.now, peer, message, self)

    def take(self, peer: str) -> list[Frame]:
        """What was written to a client since."""
        return self.said.pop(peer, [])


class Virtual:
    """A world of such nodes."""

    def __init__(self) -> None:
        self.now: Time = 0.0
        self.numbers = count()
        self.due: list[tuple[Time, int, Place, TimerName]] = []
        self.places: dict[str, Place] = {}
        self.facts: list[tuple[Time, Any]] = []

    def start(self, name: str, node: Node, make: Callable[[str], Conversation]) -> Place:
        place = self.places[name] = Place(self, name, node, make)
        node.start(self.now, place)
        return place

    def run_until(self, time: Time) -> None:
        """Let time pass."""
        while self.due and self.due[0][0] <= time:
            at, _, place, name = heappop(self.due)
            if place.timers.get(name) == at:
                del place.timers[name]
                self.now = max(self.now, at)
                place.node.timeout(self.now, name, place)
        self.now = time
