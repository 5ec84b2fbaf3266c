"""A name server, two brokers and clients in a simulation, watched."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation, Unobserved
from protocols.facts import Delivered, Owns
from protocols.java import Queue
from rocketmq_selfbalance.broker import Broker, BrokerNode, Disk
from rocketmq_selfbalance.broker.state import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.settings import ClientSettings, with_fields
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage
from rocketmq_selfbalance.nameserver import NameServer
from rocketmq_selfbalance.strategies import Averagely, Strategy

GROUP = "g"
BROKERS = ("broker-a", "broker-b")


class Watched(Unobserved):
    """Keeps facts and messages."""

    def __init__(self) -> None:
        self.facts: list[tuple[Time, str, Any]] = []
        self.sent_messages: list[tuple[Time, str, str, Message]] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.facts.append((now, node, fact))

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        self.sent_messages.append((now, sender, to, message))


class Cluster:
    """Topics have so many queues at each broker; time begins when the brokers have registered."""

    def __init__(
        self,
        topics: dict[str, int],
        *,
        brokers: Sequence[str] = BROKERS,
        produce: float = 0.0,
        seed: int = 1,
        latency: float = 1.0,
    ) -> None:
        self.watched = Watched()
        self.simulation = Simulation(seed=seed, latency=Latency(latency, latency), observer=self.watched, tracing=True)
        self.simulation.start("namesrv", NameServer())
        self.disks = {broker: self.disk(topics, produce) for broker in brokers}
        for broker, disk in self.disks.items():
            self.simulation.start(broker, BrokerNode(Broker(broker, disk)))
        self.simulation.run(100.0)

    @staticmethod
    def disk(topics: dict[str, int], produce: float) -> Disk:
        configs = [TopicConfig(topic, count, count) for topic, count in topics.items()]
        return Disk(TopicConfigManager(0.0, configs), SubscriptionGroupManager(), MessageStore(produce))

    def start(
        self,
        name: str,
        topics: Sequence[str] = ("T",),
        *,
        group: str = GROUP,
        strategy: Strategy | None = None,
        client_id: str | None = None,
        handle: Time = 0.0,
        **settings: Any,
    ) -> None:
        """A client with one consumer starts now."""
        spec = ConsumerSpec(
            group, name, tuple(topics), strategy or Averagely(), with_fields(ClientSettings(), settings), handle
        )
        self.simulation.start(name, Client(client_id or name, ("namesrv",), (spec,)))

    def run(self, duration: Time) -> None:
        """Let so many milliseconds pass."""
        self.simulation.run(self.simulation.now + duration)

    def command(self, name: str, message: Message) -> None:
        """The operator speaks to a client."""
        self.simulation.command(name, message)

    def instance(self, name: str) -> Instance:
        """A client's state."""
        node = self.simulation.processes[name].node
        assert isinstance(node, Client)
        return node.instance

    def owns(self, name: str) -> tuple[Queue, ...]:
        """What the member believes to own, retry topics aside."""
        told = [fact for _, _, fact in self.watched.facts if isinstance(fact, Owns) and fact.member == name]
        return tuple(queue for queue in (told[-1].queues if told else ()) if not queue.topic.startswith("%"))

    def facts(self, kind: type, member: str | None = None) -> list[tuple[Time, Any]]:
        """Times and facts of a kind."""
        found = [(now, fact) for now, _, fact in self.watched.facts if isinstance(fact, kind)]
        return [each for each in found if member is None or each[1].member == member]

    def requests(self, sender: str, since: Time = 0.0) -> list[tuple[Time, str, Message]]:
        """What a node sent: times, receivers and messages, pulls left out."""
        return [
            (now, to, message)
            for now, by, to, message in self.watched.sent_messages
            if by == sender and now >= since and not isinstance(message, PullMessage | PullAnswer)
        ]

    def kinds(self, sender: str, since: Time = 0.0) -> list[str]:
        """The types of these, in order."""
        return [type(message).__name__ for _, _, message in self.requests(sender, since)]

    def deliveries(self, member: str | None = None) -> Counter[tuple[Queue, int]]:
        """(Queue, offset) to how often it was delivered."""
        found: Counter[tuple[Queue, int]] = Counter()
        for _, fact in self.facts(Delivered, member):
            found.update((fact.queue, offset) for offset in range(fact.first, fact.end))
        return found

    def committed(self, queue: Queue) -> int:
        """The committed offset at the queue's broker."""
        node = self.simulation.processes[queue.broker].node
        assert isinstance(node, BrokerNode)
        return node.state.offsets.query(GROUP, queue.topic, queue.number)
