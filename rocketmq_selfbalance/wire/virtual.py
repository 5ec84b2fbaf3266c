"""Served nodes in virtual time: clients' bytes in, bytes for clients out, no socket; nodes reach each other at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, TypeVar

from protocols.engine.connection import Conversation, at_once
from protocols.engine.nodes import Message, Node, Time, TimerName
from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker.state import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.remoting import Frame, decode, encode
from rocketmq_selfbalance.versions import DEFAULT
from rocketmq_selfbalance.wire import requests
from rocketmq_selfbalance.wire.broker import ServedBroker
from rocketmq_selfbalance.wire.conversation import maker
from rocketmq_selfbalance.wire.name_server import ServedNameServer
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.served import RecordStore, Served, WireSettings
from rocketmq_selfbalance.wire.stored_messages import decode as stored_record
from rocketmq_selfbalance.wire.stored_messages import parse_properties

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
            raw = b"".join(at_once(self.conversations[to].encode(message)))
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


NAME_SERVER: Final = "namesrv"
_ADMIN: Final = "admin"
_SET_MODE: Final = 401


class VirtualCluster(Virtual):
    """A name server and brokers. ``brokers``: name to address; ``topics``: name to broker to number of queues;
    ``epoch_ms``: milliseconds from 1970 to the world's time 0; ``phases``: of a broker's threads that bring back what
    nobody has acked, how much later than usual each begins."""

    def __init__(
        self,
        brokers: Mapping[str, str],
        topics: Mapping[str, Mapping[str, int]],
        epoch_ms: Time,
        phases: Mapping[str, Sequence[Time]],
    ) -> None:
        super().__init__()
        wire, ownership = WireSettings(), Ownership()
        name_server = ServedNameServer(dict(brokers))
        self.start(NAME_SERVER, name_server, maker(requests.NAME_SERVER, NAME_SERVER, wire, DEFAULT.name))
        self._stores: dict[str, RecordStore] = {}
        for broker, address in brokers.items():
            store = self._stores[broker] = RecordStore(wire.most_stored_bytes, epoch_ms)
            configs = [TopicConfig(topic, each[broker], each[broker]) for topic, each in topics.items()]
            disk = Disk(TopicConfigManager(configs=configs), SubscriptionGroupManager(), store)
            served = Served(Broker(broker, disk), store, wire, ownership, address, epoch_ms)
            served.route_of = name_server.node.route
            served.revive_phases = phases.get(broker, served.revive_phases)
            place = self.start(broker, ServedBroker(served), maker(requests.BROKER, broker, wire, DEFAULT.name))
            place.connect(_ADMIN)

    def set_mode(self, topic: str, group: str, mode: str, share_queues: int) -> None:
        """An administrator sets how a group is given a topic's records (``SET_MESSAGE_REQUEST_MODE``)."""
        body = {"topic": topic, "consumerGroup": group, "mode": mode, "popShareQueueNum": share_queues}
        for broker in self._stores:
            place = self.places[broker]
            place.read(_ADMIN, encode(Frame(_SET_MODE, 1, {}, json.dumps(body).encode())))
            place.take(_ADMIN)

    def position(self, broker: str, unique: str) -> int:
        """Where in the commit log the record with this unique key was stored last; 0 where it was not."""
        found = 0
        for queues in self._stores[broker].queues.values():
            for queue in queues.values():
                for stored in getattr(queue, "stored", ()):
                    properties = parse_properties(stored_record(stored.content).record.properties)
                    found = max(found, stored.position) if properties.get("UNIQ_KEY") == unique else found
        return found
