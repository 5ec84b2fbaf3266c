"""A proxy's routes (``TopicRouteService``): loaded at first use, renewed every 20 s when somebody asks, with the queues
that clients are told and the one that the next message of a producer goes to (spec grpc 2.1, 5, 7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue, sort_queues, string_hash
from rocketmq_selfbalance.codes import PERM_READ, PERM_WRITE
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import QueueData, Route
from rocketmq_selfbalance.proxy.definitions import Permission
from rocketmq_selfbalance.proxy.settings import ProxySettings


class Directory(Protocol):
    """What the proxy learns of a cluster from its name server and the settings of its brokers."""

    def route(self, topic: str) -> Route | None:
        """The topic's route, brokers in the name server's order; None where it knows none."""

    def topic_kind(self, topic: str) -> str | None:
        """NORMAL, FIFO, ...; None where no broker has the topic."""

    def group(self, name: str) -> SubscriptionGroup | None:
        """The group's settings; None where no broker has it."""


class ToldQueue(NamedTuple):
    """A queue as clients are told of it."""

    broker: str
    number: int
    permission: Permission


def told_queues(route: Route) -> list[ToldQueue]:
    """Read-only, write-only, read-write queues per broker, numbers counted through."""
    told: list[ToldQueue] = []
    for data in route.queues:
        for permission, count in _counts(data):
            first = sum(each.broker == data.broker for each in told)
            told += [ToldQueue(data.broker, first + number, permission) for number in range(count)]
    return told


def _counts(data: QueueData) -> tuple[tuple[Permission, int], ...]:
    reads, writes = bool(data.perm & PERM_READ), bool(data.perm & PERM_WRITE)
    if reads and writes:
        both = min(data.read, data.write)
        kinds = (Permission.READ, Permission.WRITE, Permission.READ_WRITE)
        return tuple(zip(kinds, (data.read - both, data.write - both, both), strict=True))
    if reads:
        return ((Permission.READ, data.read),)
    if writes:
        return ((Permission.WRITE, data.write),)
    return ((Permission.NONE, max(1, data.read, data.write)),)


def readable(route: Route) -> list[QueueData]:
    """The brokers that have queues to read."""
    return [data for data in route.queues if data.perm & PERM_READ and data.read > 0]


def consistent_hash(code: int, count: int) -> int:
    """Guava's ``Hashing.consistentHash`` of a 64-bit number: which of ``count`` buckets it goes to."""
    state, chosen = code, 0
    while True:
        state = (2862933555777941757 * state + 1) & (1 << 64) - 1
        following = int((chosen + 1) / (((state >> 33) + 1) / 2.0**31))
        if not 0 <= following < count:
            return chosen
        chosen = following


@dataclass(slots=True)
class View:
    """A topic's route as the proxy has it since `loaded`."""

    topic: str
    route: Route
    loaded: Time
    writes: Sequence[Queue]
    """Queues to write to, sorted."""
    next_write: int = -1
    """Where the next message goes; below 0 nobody has written yet."""
    next_read: int = 0

    def choose_write(self, group: str | None, out: Outbox) -> Queue | None:
        """The queue for a message of this message group; None where there is none."""
        if not self.writes:
            return None
        if group:
            code = string_hash(group)
            signed = code - (1 << 32) if code >> 31 else code
            return self.writes[consistent_hash(signed & (1 << 64) - 1, len(self.writes))]
        if self.next_write < 0:
            self.next_write = out.choose(f"first queue of {self.topic}", range(len(self.writes)))
        chosen = self.writes[self.next_write % len(self.writes)]
        self.next_write += 1
        return chosen


class Routes:
    """All routes that a proxy has loaded."""

    def __init__(self, settings: ProxySettings, directory: Directory) -> None:
        self.settings, self.directory = settings, directory
        self.views: dict[str, View] = {}

    def of(self, now: Time, topic: str) -> View | None:
        """The topic's route; None where there is none. One that is old is still told, and renewed after that."""
        view = self.views.get(topic)
        if view is not None and now - view.loaded < self.settings.route_refresh_ms:
            return view
        loaded = self._load(now, topic)
        if loaded is None:
            self.views.pop(topic, None)
        else:
            self.views[topic] = loaded
        return loaded if view is None or now - view.loaded >= self.settings.route_expires_ms else view

    def _load(self, now: Time, topic: str) -> View | None:
        route = self.directory.route(topic)
        if route is None:
            return None
        writes = [
            Queue(topic, data.broker, number)
            for data in route.queues
            if data.perm & PERM_WRITE
            for number in range(data.write)
        ]
        return View(topic, route, now, sort_queues(writes))
