"""A broker with topic T (four queues), called by hand."""

from typing import Any

from protocols import Queue
from protocols.engine.nodes import OPERATOR, Message
from protocols.engine.single import SingleNode
from rocketmq_selfbalance.broker import Broker, BrokerNode, BrokerSettings, Disk
from rocketmq_selfbalance.broker.state import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.codes import CLUSTERING, CONSUME_FROM_LAST_OFFSET, CONSUME_PASSIVELY, SUCCESS
from rocketmq_selfbalance.messages.membership import (
    ConsumerData,
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    Subscription,
    UnregisterClient,
)
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import ConsumerSendMsgBack, PullAnswer

HOLD_MS = 15_000.0
RETRY = "%RETRY%g"


def disk(per_second: float = 0.0) -> Disk:
    return Disk(TopicConfigManager(0, [TopicConfig("T", 4, 4)]), SubscriptionGroupManager(), MessageStore(per_second))


class OneBroker:
    """The broker ``b`` and whom it talks to. Times are seconds."""

    def __init__(self, per_second: float = 0.0, settings: BrokerSettings | None = None, on: Disk | None = None) -> None:
        self.disk = on or disk(per_second)
        self.world = SingleNode(BrokerNode(Broker("b", self.disk, settings or BrokerSettings())))
        self.world.start()
        self.world.take_sent()

    def ask(self, at_s: float, sender: str, message: Message) -> Any:
        """The answer to a request: the last that was sent back to the sender, None if there was nothing."""
        self.connect(at_s, sender)
        self.world.receive(round(at_s * 1000, 3), sender, message)
        answers = [sent.message for sent in self.world.sent if sent.to == sender]
        return answers[-1] if answers else None

    def connect(self, at_s: float, sender: str) -> None:
        if sender != OPERATOR and sender not in self.world.node.state.active:
            self.world.connected(round(at_s * 1000, 3), sender)

    def heartbeat(
        self, at_s: float, client: str, *topics: str, id: str = "", version: int = 1, group: str = "g", **mode: str
    ) -> list[str]:
        """A heartbeat of a client; who is told of a change."""
        self.world.advance(round(at_s * 1000, 3))
        self.world.take_sent()
        told = tuple(Subscription(topic, "*", version) for topic in topics or ("T",))
        fields = {
            "consume_type": CONSUME_PASSIVELY,
            "message_model": CLUSTERING,
            "consume_from_where": CONSUME_FROM_LAST_OFFSET,
            **mode,
        }
        data = ConsumerData(group=group, subscriptions=told, **fields)
        self.ask(at_s, client, HeartBeat(1, id or client, (data,)))
        return self.notified()

    def leave(self, at_s: float, client: str, group: str = "g") -> list[str]:
        """A consumer unregisters; who is told."""
        self.world.take_sent()
        self.ask(at_s, client, UnregisterClient(2, client, group))
        return self.notified()

    def close(self, at_s: float, client: str) -> list[str]:
        """A connection ends; who is told."""
        self.world.take_sent()
        self.world.closed(round(at_s * 1000, 3), client)
        return self.notified()

    def notified(self) -> list[str]:
        """Who was sent a notification since the last look, in order."""
        return [sent.to for sent in self.world.take_sent() if isinstance(sent.message, NotifyConsumerIdsChanged)]

    def members(self, at_s: float, group: str = "g") -> list[str]:
        """The client ids that the broker lists, sorted."""
        answer = self.ask(at_s, "somebody", GetConsumerListByGroup(3, group))
        self.world.take_sent()
        return sorted(answer.client_ids)


def queue(number: int = 0, topic: str = "T") -> Queue:
    return Queue(topic, "b", number)


def joined(per_second: float = 10.0, *topics: str) -> OneBroker:
    broker = OneBroker(per_second)
    broker.heartbeat(0, "c1", *(topics or ("T", RETRY)))
    return broker


def answers(broker: OneBroker) -> list[tuple[float, PullAnswer]]:
    """(seconds, answer) of the pulls answered since the last look."""
    return [(sent.time / 1000, sent.message) for sent in broker.world.take_sent() if type(sent.message) is PullAnswer]


def send_back(broker: OneBroker, at_s: float, offset: int, topic: str = "T", **more: int) -> None:
    assert broker.ask(at_s, "c1", ConsumerSendMsgBack(1, "g", queue(topic=topic), offset, **more)).code == SUCCESS
