"""A served cluster with its proxy in virtual time: calls in, answers out, no connection anywhere. Nodes reach each
other at once."""

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias, TypeVar

from protocols.engine.nodes import OPERATOR, Message, Node, Time, TimerName
from protocols.java import Queue, string_entry_order
from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker.state import BrokerSettings, SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.messages.membership import SubscriptionGroup, UpdateTopic
from rocketmq_selfbalance.messages.nameserver import Route, TopicConfig
from rocketmq_selfbalance.messages.popping import Ack, ChangeInvisible, Pop, ToDeadLetters
from rocketmq_selfbalance.proxy import NAME, Proxy, ProxyNode, ProxySettings
from rocketmq_selfbalance.proxy.node import RENEW, SCAN
from rocketmq_selfbalance.proxy.requests import Answered, Call, Cancelled, StreamClosed, StreamRefused, Telemetry, Told
from rocketmq_selfbalance.wire.broker import ServedBroker
from rocketmq_selfbalance.wire.messages import SendHalf, SendMessage
from rocketmq_selfbalance.wire.name_server import ServedNameServer
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.served import RecordStore, Served, WireSettings


class ClusterDirectory:
    """Reads the name server's table and the brokers' settings. ``route_of`` is the name server's answer; ``disks``:
    broker to what it keeps."""

    def __init__(self, route_of: Callable[[str], Route | None], disks: Mapping[str, Disk]) -> None:
        self._route_of, self._disks = route_of, disks

    def route(self, topic: str) -> Route | None:
        """The topic's route, brokers in the order of the name server's hash table."""
        route = self._route_of(topic)
        if route is None:
            return None
        by_name = {data.broker: data for data in route.queues}
        return route._replace(queues=tuple(by_name[name] for name in string_entry_order(list(by_name))))

    def topic_kind(self, topic: str) -> str | None:
        """What producers may send to the topic."""
        kinds = (disk.topics.configs[topic].kind for disk in self._disks.values() if topic in disk.topics.configs)
        return next(kinds, None)

    def group(self, name: str) -> SubscriptionGroup | None:
        """The group's settings, made where brokers make groups that somebody asks for."""
        known = (disk.groups.configs[name] for disk in self._disks.values() if name in disk.groups.configs)
        found = next(known, None)
        if found is None and self._disks:
            found = next(iter(self._disks.values())).groups.find(name)
        return found


T = TypeVar("T")
NAME_SERVER, DOOR = "namesrv", "grpc"
Said: TypeAlias = Answered | Told | StreamRefused
Choose: TypeAlias = Callable[[int, str, int], int | None]
"""Number of the call for which something is chosen, label and how many options there are, to the option that is taken;
None: the first."""


def subscription_group(name: str, *, most_retries: int, in_order: bool) -> SubscriptionGroup:
    """The settings of a group."""
    return SubscriptionGroup(name, retry_max_times=most_retries, consume_message_orderly=in_order)


class Place:
    """One node and its outbox."""

    def __init__(self, world: "Rehearsal", name: str, node: Node) -> None:
        self.world, self.name, self.node = world, name, node
        self.timers: dict[TimerName, Time] = {}

    def send(self, to: str, message: Message) -> None:
        self.world.sent(self.name, to, message)

    def close(self, peer: str) -> None:
        """Nobody is connected."""

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.timers[name] = at
        self.world.at(at, lambda: self._due(name, at))

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[object, ...]) -> None:
        """Nobody looks."""

    def choose(self, label: str, options: Sequence[T]) -> T:
        chosen = self.world.chosen(label, len(options))
        return options[chosen or 0]

    def new_id(self, prefix: str) -> str:
        return f"{prefix}-{next(self.world.numbers)}"

    def _due(self, name: TimerName, at: Time) -> None:
        if self.timers.get(name) == at and self.world.places.get(self.name) is self:
            del self.timers[name]
            self.node.timeout(self.world.now, name, self)


class Rehearsal:
    """``topics``: name to kind and to the number of queues per broker. ``said`` is told what the proxy answers;
    ``phases``: how much later than
    usual brokers bring back what nobody has acked, and earlier the proxy looks for silent clients and for messages to
    renew; ``arrives``: when a broker has what the proxy asks of it for the call of this number (0: for none)."""

    def __init__(
        self,
        brokers: Sequence[str],
        topics: Mapping[str, tuple[str, Mapping[str, int]]],
        groups: Sequence[SubscriptionGroup],
        *,
        epoch_ms: Time,
        settings: ProxySettings,
        choose: Choose,
        arrives: Callable[[int], Time],
        phases: tuple[Sequence[Time], Time, Time] = ((0.0,) * 8, 0.0, 0.0),
        said: Callable[[Said], None],
    ) -> None:
        self.now: Time = 0.0
        self.numbers = count()
        self.arrives = arrives
        self.epoch_ms, self.choose, self._said, self._phase = epoch_ms, choose, said, phases[0]
        self.places: dict[str, Place] = {}
        self._due: list[tuple[Time, int, Callable[[], None]]] = []
        self._call = 0
        """The number of the call that was given last."""
        self._pops: dict[str, int] = {}
        """Label of a pop's choice to the call that it is for."""
        self._settings = BrokerSettings(auto_create_subscription_group=False)
        self._stores = {name: RecordStore(1 << 30, epoch_ms) for name in brokers}
        self._disks = {
            name: Disk(
                TopicConfigManager(
                    0.0,
                    [
                        TopicConfig(topic, queues[name], queues[name], kind=kind)
                        for topic, (kind, queues) in topics.items()
                        if name in queues
                    ],
                ),
                SubscriptionGroupManager({group.group: group for group in groups}, auto_create=False),
                self._stores[name],
            )
            for name in brokers
        }
        self._name_server = ServedNameServer({name: f"{name}:1" for name in brokers})
        self._place(NAME_SERVER, self._name_server)
        for name in brokers:
            self.start_broker(name)
        proxy = Proxy(settings, ClusterDirectory(self._route, self._disks), 8081, epoch_ms)
        self._proxy = proxy
        self._place(NAME, ProxyNode(proxy))
        place = self.places[NAME]
        place.set_timer(SCAN, settings.channel_scan_ms - phases[1])
        place.set_timer(RENEW, settings.renew_scan_ms - phases[2])

    # What happens.

    def at(self, time: Time, action: Callable[[], None]) -> None:
        """Do this at a time, or now where that is past."""
        heappush(self._due, (max(time, self.now), next(self.numbers), action))

    def run(self, until: Time) -> None:
        """Let everything happen that is due until then."""
        while self._due and self._due[0][0] <= until:
            self.now, _, action = heappop(self._due)
            action()

    def give(self, message: Call | Telemetry | Cancelled | StreamClosed) -> None:
        """A client says this to the proxy."""
        place = self.places[NAME]
        self._call = message.correlation
        place.node.receive(self.now, DOOR, message, place)
        self._call = 0

    def start_broker(self, name: str) -> None:
        """A broker starts on the disk that it had."""
        state = Broker(name, self._disks[name], self._settings, (NAME_SERVER,))
        served = Served(state, self._stores[name], WireSettings(), Ownership(), f"{name}:1", self.epoch_ms)
        served.revive_queue = lambda number: self.chosen(f"pop {number} revive", 8)
        served.revive_phases = self._phase
        self._place(name, ServedBroker(served))

    def stop_broker(self, name: str) -> None:
        """A broker is gone, which name server and proxy notice by their connections."""
        self.places.pop(name, None)
        for peer in (NAME_SERVER, NAME):
            self.places[peer].node.closed(self.now, name, self.places[peer])

    def set_queues(self, topic: str, broker: str, number: int) -> None:
        """A broker's topic has so many queues from now on."""
        place, config = self.places[broker], self._disks[broker].topics.configs[topic]
        update = UpdateTopic(0, config._replace(read=number, write=number))
        place.node.receive(self.now, OPERATOR, update, place)

    def next_write(self, topic: str) -> Queue | None:
        """Where the proxy would send the next message without a message group; None: chance decides."""
        view = self._proxy.routes.of(self.now, topic)
        begun = view is not None and view.next_write >= 0 and view.writes
        return view.writes[view.next_write % len(view.writes)] if view is not None and begun else None

    def load_again(self, topic: str) -> None:
        """The proxy loads the topic's route again for whoever asks next."""
        self._proxy.routes.views.pop(topic, None)

    def write_queues(self, topic: str) -> Sequence[Queue]:
        """The queues that producers write to, as the proxy knows them now."""
        view = self._proxy.routes.views.get(topic)
        return () if view is None else view.writes

    def readable(self, topic: str, broker: str) -> int:
        """How many queues of the topic the broker lets read."""
        config = self._disks[broker].topics.configs.get(topic) if broker in self._disks else None
        return 0 if config is None else config.read

    def chosen(self, label: str, count: int) -> int | None:
        """Which option is taken."""
        words = label.split(" ")
        return self.choose(
            self._pops.get(" ".join(words[:2]), self._call), words[-1] if words[0] == "pop" else words[0], count
        )

    def sent(self, sender: str, to: str, message: Message) -> None:
        """A node says this to another one, to itself, or to a client."""
        at = self.now
        if isinstance(message, Pop):
            self._pops[f"pop {message.correlation}"] = self._call
        elif sender == NAME and isinstance(message, SendMessage | SendHalf | Ack | ChangeInvisible | ToDeadLetters):
            at = self.arrives(self._call)
        if to == DOOR:
            if isinstance(message, Answered | Told | StreamRefused):
                self._said(message)
        elif to in self.places:
            place = self.places[to]
            self.at(at, lambda: place.node.receive(self.now, sender, message, place))
        elif sender in self.places:
            peer = self.places[sender]
            self.at(self.now, lambda: peer.node.closed(self.now, to, peer))

    def _place(self, name: str, node: Node) -> None:
        place = self.places[name] = Place(self, name, node)
        node.start(self.now, place)

    def _route(self, topic: str) -> Route | None:
        return self._name_server.node.route(topic)
