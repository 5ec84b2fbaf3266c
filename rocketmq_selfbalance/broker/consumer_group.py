"""A group as a broker knows it: the connections of its members and one table of subscriptions (spec 2.2), RocketMQ's
``ConsumerGroupInfo``.

A *channel* is one connection of a client to this broker; the key of a member is its channel, not its client id.
"""

from typing import Self

from protocols.engine.nodes import Time
from rocketmq_selfbalance.messages.membership import ConsumerData, Subscription


class Connection:
    """A channel within a group: RocketMQ's ``ClientChannelInfo``."""

    __slots__ = ("client_id", "last_update", "revision", "subscriptions")

    def __init__(self, client_id: str, last_update: Time) -> None:
        self.client_id = client_id
        self.last_update = last_update
        self.subscriptions: tuple[Subscription, ...] | None = None
        """Those of its last heartbeat, while ``revision`` of the group's topics was in force."""
        self.revision = -1


class ConsumerGroup:
    """What the broker knows of a group whose members are connected."""

    __slots__ = (
        "channels",
        "consume_from_where",
        "consume_type",
        "ids",
        "last_update",
        "message_model",
        "revision",
        "topics",
    )

    def __init__(self, now: Time, data: ConsumerData) -> None:
        self.consume_type = data.consume_type
        self.message_model = data.message_model
        self.consume_from_where = data.consume_from_where
        self.channels: dict[str, Connection] = {}
        """In the order in which they came."""
        self.ids: tuple[str, ...] | None = None
        """Their client ids, the same object while they do not change; None where nobody has asked since."""
        self.topics: dict[str, Subscription] = {}
        self.last_update = now
        self.revision = 0
        """Rises whenever a topic comes or goes. (A newer version of a subscription changes no topic.)"""

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

    def copy(self) -> Self:
        """An independent copy."""
        mode = ConsumerData("", self.consume_type, self.message_model, self.consume_from_where, ())
        twin = type(self)(self.last_update, mode)
        twin.topics, twin.revision = dict(self.topics), self.revision
        for channel, known in self.channels.items():
            other = twin.channels[channel] = Connection(known.client_id, known.last_update)
            other.subscriptions, other.revision = known.subscriptions, known.revision
        return twin

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now. Versions of subscriptions only matter by their order."""
        return (
            self.consume_type,
            self.message_model,
            self.consume_from_where,
            tuple((channel, each.client_id, each.last_update - now) for channel, each in self.channels.items()),
            tuple(sorted((each.topic, each.expression, each.version - now) for each in self.topics.values())),
        )
