"""A group as a broker knows it: the connections of its members and one table of subscriptions (spec 2.2), RocketMQ's
``ConsumerGroupInfo``.

A *channel* is one connection of a client to this broker; the key of a member is its channel, not its client id.
"""

from dataclasses import dataclass

from protocols.engine.nodes import Time
from protocols.node_state import Emptied, NodeState
from rocketmq_selfbalance.messages.membership import ConsumerData, Subscription


@dataclass(slots=True, eq=False)
class Connection(NodeState):
    """A channel within a group: RocketMQ's ``ClientChannelInfo``."""

    client_id: str
    last_update: Time
    subscriptions: tuple[Subscription, ...] | None = None
    """Those of its last heartbeat, while ``revision`` of the group's topics was in force."""
    revision: int = -1


@dataclass(slots=True, init=False, eq=False)
class ConsumerGroup(NodeState):
    """What the broker knows of a group whose members are connected."""

    consume_type: str
    message_model: str
    consume_from_where: str
    channels: dict[str, Connection]
    """In the order in which they came."""
    ids: Emptied[tuple[str, ...] | None]
    """Their client ids, the same object while they do not change; None where nobody has asked since."""
    topics: dict[str, Subscription]
    last_update: Time
    revision: int
    """Rises whenever a topic comes or goes. (A newer version of a subscription changes no topic.)"""

    def __init__(self, now: Time, data: ConsumerData) -> None:
        self.consume_type = data.consume_type
        self.message_model = data.message_model
        self.consume_from_where = data.consume_from_where
        self.channels = {}
        self.ids = None
        self.topics = {}
        self.last_update = now
        self.revision = 0

    def connect(self, now: Time, channel: str, client_id: str, data: ConsumerData) -> bool:
        """A heartbeat came on this channel; whether it is new in the group. The last sender's mode counts for all."""
        self.consume_type, self.message_model = data.consume_type, data.message_model
        self.consume_from_where = data.consume_from_where
        self.last_update = now
        known = self.channels.get(channel)
        if known is None:
            self.channels[channel] = Connection(client_id, now)
            self.ids = None
            return True
        if known.client_id != client_id:
            known.client_id, self.ids = client_id, None
        known.last_update = now
        return False

    def subscribe(self, now: Time, connection: Connection, subscriptions: tuple[Subscription, ...]) -> bool:
        """The sender's topics replace the group's; whether a topic came or went. A newer version alone does not
        count."""
        self.last_update = now
        if subscriptions is connection.subscriptions and connection.revision == self.revision:
            return False
        changed = False
        topics = self.topics
        for each in subscriptions:
            known = topics.get(each.topic)
            if known is None or each.version > known.version:
                topics[each.topic] = each
                if known is None:
                    self.revision += 1
                    changed = True
        names = {each.topic for each in subscriptions}
        for topic in [topic for topic in topics if topic not in names]:
            del topics[topic]
            self.revision += 1
            changed = True
        connection.subscriptions, connection.revision = subscriptions, self.revision
        return changed
