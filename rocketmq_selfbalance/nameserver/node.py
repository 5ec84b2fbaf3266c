"""The name server as a node: brokers register, clients ask for routes, a scan removes the silent (spec 1): RocketMQ's
``DefaultRequestProcessor``, ``ClientRequestProcessor`` and ``BrokerHousekeepingService``."""

from dataclasses import dataclass

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.node_state import Emptied, NodeState
from rocketmq_selfbalance.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.nameserver import (
    AddWritePerm,
    BrokerHeartbeat,
    DeleteTopicInNameServer,
    GetRouteInfo,
    RegisterBroker,
    Route,
    RouteInfoAnswer,
    UnregisterBroker,
    WipeWritePerm,
)
from rocketmq_selfbalance.nameserver.route_info import NameServerSettings, RouteInfoManager

SCAN = "scan brokers"


@dataclass(slots=True, init=False, eq=False)
class NameServer(NodeState):
    """One name server. Its tables are in memory: a new one knows nothing until the brokers register again."""

    settings: NameServerSettings
    table: RouteInfoManager
    _answers: Emptied[dict[str, Route | None]]
    """Topic to the route as it was answered at this revision of the tables,"""
    _revision: Emptied[int]
    """which is this one."""

    def __init__(self, settings: NameServerSettings | None = None) -> None:
        self.settings = settings or NameServerSettings()
        self.table = RouteInfoManager(self.settings)
        self._answers = {}
        self._revision = 0

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer(SCAN, now + self.settings.scan_first_ms)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if type(message) is GetRouteInfo:
            route = self.route(message.topic)
            code = TOPIC_NOT_EXIST if route is None else SUCCESS
            out.send(sender, RouteInfoAnswer(message.correlation, code, route))
            return
        match message:
            case RegisterBroker():
                self.table.register(
                    now,
                    message.cluster,
                    message.broker,
                    message.broker_id,
                    message.address,
                    message.topics,
                    message.version,
                    sender,
                )
            case UnregisterBroker():
                self.table.unregister(message.cluster, message.broker, message.address)
            case BrokerHeartbeat():
                self.table.heartbeat(now, message.cluster, message.address)
            case WipeWritePerm() if sender == OPERATOR:
                self.table.wipe_write_perm(message.broker)
            case AddWritePerm() if sender == OPERATOR:
                self.table.add_write_perm(message.broker)
            case DeleteTopicInNameServer() if sender == OPERATOR:
                self.table.delete_topic(message.topic)
            case _:
                raise TypeError(f"a name server does not understand {message!r} from {sender}")

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        for channel in self.table.scan(now):
            out.close(channel)
        out.set_timer(SCAN, now + self.settings.scan_not_active_broker_interval_ms)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Whoever connects says later who it is."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.table.channel_closed(peer)

    def route(self, topic: str) -> Route | None:
        """The topic's route as it is told to whoever asks; None where there is none."""
        if self._revision != self.table.revision:
            self._answers, self._revision = {}, self.table.revision
        if topic not in self._answers:
            self._answers[topic] = self.table.route(topic)
        return self._answers[topic]
