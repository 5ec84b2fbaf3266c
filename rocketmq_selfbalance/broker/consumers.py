"""A broker's registry of consumers, RocketMQ's ``ConsumerManager``: groups (``ConsumerGroupInfo``) with the connections
of their members and one table of subscriptions each (spec 2.2 to 2.4).

A plain object: it is given the time and answers with what changed and with the events that concern others. A *channel*
is one connection of a client to this broker; the key of a member is its channel, not its client id.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.node_state import Apart, Emptied, NodeState
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.messages.membership import ConsumerData, Subscription
from rocketmq_selfbalance.versions import DEFAULT, Version


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
        for subscription in subscriptions:
            known = topics.get(subscription.topic)
            if known is None or subscription.version > known.version:
                topics[subscription.topic] = subscription
                if known is None:
                    self.revision += 1
                    changed = True
        names = {subscription.topic for subscription in subscriptions}
        for topic in [topic for topic in topics if topic not in names]:
            del topics[topic]
            self.revision += 1
            changed = True
        connection.subscriptions, connection.revision = subscriptions, self.revision
        return changed


# Kinds of events: RocketMQ's ``ConsumerGroupEvent``.
CLIENT_REGISTER = "CLIENT_REGISTER"
"""A channel came into a group."""
CHANGE = "CHANGE"
"""The group's channels are to be notified that its members or topics have changed."""
REGISTER = "REGISTER"
"""A heartbeat brought its subscriptions."""
CLIENT_UNREGISTER = "CLIENT_UNREGISTER"
"""A channel left a group."""
UNREGISTER = "UNREGISTER"
"""The group has no channel any more."""


class ConsumerEvent(NamedTuple):
    """One event of a group. What does not belong to its kind is empty."""

    kind: str
    group: str
    channels: tuple[str, ...] = ()
    """Of a CHANGE: everybody in the group, in the order in which they came."""
    client_id: str = ""
    channel: str = ""
    subscriptions: tuple[Subscription, ...] = ()


class Registered(NamedTuple):
    """Whether a heartbeat changed who is in the group or which topics it has, and the events in order."""

    changed: bool
    events: tuple[ConsumerEvent, ...]


@dataclass(slots=True, eq=False)
class ConsumerManager(NodeState):
    """Group to its connections and subscriptions.

    ``fast_channel_events`` is ``enableFastChannelEventProcess``: the broker finds a lost channel's groups by another
    table, into which a channel comes only where its first heartbeat for the group brings subscriptions while it is
    open; and then notifies the members of BROADCASTING groups as well. ``notify_broadcasting``: these are notified of
    every change (4.x).
    """

    channel_expired_ms: Time
    fast_channel_events: bool = field(default=False, kw_only=True)
    notify_broadcasting: bool = field(default=False, kw_only=True)
    version: Apart[Version] = field(default=DEFAULT, kw_only=True)
    groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    _by_channel: dict[str, dict[str, None]] = field(default_factory=dict)
    """Channel to its groups, in order; only kept with ``fast_channel_events``. A channel's groups are one text in
    which bars part them, so that of a group with a bar in its name only the parts are found again."""
    by_topic: Apart[dict[str, dict[str, None]]] = field(default_factory=dict)
    """``topicGroupTable``: topic to the groups that have subscribed to it, for those who ask (spec 15). A group leaves
    it with its last channel, but not where the scan removes that, and only from the topics that it had then."""

    def register(
        self,
        now: Time,
        channel: str,
        client_id: str,
        data: ConsumerData,
        *,
        notify: bool = True,
        update_subscription: bool = True,
        is_open: bool = True,
    ) -> Registered:
        """A heartbeat for one group. ``notify`` is the group's ``notifyConsumerIdsChangedEnable``; ``is_open``: the
        channel has not been closed since the heartbeat was read from it."""
        name, subscriptions = data.group, data.subscriptions
        events: list[ConsumerEvent] = []
        group = self._group(now, data)
        self._enter(name, subscriptions)
        changed = group.connect(now, channel, client_id, data)
        if changed:
            events.append(ConsumerEvent(CLIENT_REGISTER, name, (), client_id, channel, subscriptions))
            if self.fast_channel_events and is_open:
                self._by_channel.setdefault(channel, {}).update(dict.fromkeys(filter(None, name.split("|"))))
        if update_subscription:
            changed = group.subscribe(now, group.channels[channel], subscriptions) or changed
        if changed and notify and self._notified(group):
            events.append(ConsumerEvent(CHANGE, name, tuple(group.channels)))
        events.append(ConsumerEvent(REGISTER, name, (), client_id, channel, subscriptions))
        return Registered(changed, tuple(events))

    def register_without_subscriptions(
        self, now: Time, channel: str, client_id: str, data: ConsumerData, *, notify: bool = True
    ) -> Registered:
        """A heartbeat that only repeats its fingerprint (HeartbeatV2): the connection is refreshed."""
        group = self._group(now, data)
        self._enter(data.group, group.topics.values())
        changed = group.connect(now, channel, client_id, data)
        if changed and notify and self._notified(group):
            return Registered(True, (ConsumerEvent(CHANGE, data.group, tuple(group.channels)),))
        return Registered(changed, ())

    def _group(self, now: Time, data: ConsumerData) -> ConsumerGroup:
        group = self.groups.get(data.group)
        if group is None:
            group = self.groups[data.group] = ConsumerGroup(now, data)
        return group

    def _enter(self, name: str, subscriptions: Iterable[Subscription]) -> None:
        for topic, *_ in subscriptions:
            self.by_topic.setdefault(topic, {})[name if self.version.topics_have_their_groups else topic] = None

    def _notified(self, group: ConsumerGroup) -> bool:
        return self.notify_broadcasting or group.message_model != BROADCASTING

    def unregister(self, name: str, channel: str, client_id: str, *, notify: bool = True) -> tuple[ConsumerEvent, ...]:
        """A consumer takes leave of its group, under the id that it gives. Everybody who stays is notified, even if
        nobody left."""
        group = self.groups.get(name)
        if group is None:
            return ()
        events = self._leave(name, group, channel, client_id)
        if notify and self._notified(group):
            events.append(ConsumerEvent(CHANGE, name, tuple(group.channels)))
        return tuple(events)

    def channel_closed(self, channel: str) -> tuple[ConsumerEvent, ...]:
        """A connection ended (``doChannelCloseEvent``): it leaves all its groups. Those who stay are notified whatever
        the group's switch."""
        events: list[ConsumerEvent] = []
        for name in list(self._by_channel.get(channel, ()) if self.fast_channel_events else self.groups):
            group = self.groups.get(name)
            if group is not None and channel in group.channels:
                events += self._leave(name, group, channel, group.channels[channel].client_id)
                if self.fast_channel_events or self._notified(group):
                    events.append(ConsumerEvent(CHANGE, name, tuple(group.channels)))
        return tuple(events)

    def _leave(self, name: str, group: ConsumerGroup, channel: str, client_id: str) -> list[ConsumerEvent]:
        events: list[ConsumerEvent] = []
        if group.channels.pop(channel, None) is not None:
            group.ids = None
            subscriptions = tuple(group.topics.values())
            events.append(ConsumerEvent(CLIENT_UNREGISTER, name, (), client_id, channel, subscriptions))
        if not group.channels:
            del self.groups[name]
            events.append(ConsumerEvent(UNREGISTER, name))
            for topic in group.topics:
                groups = self.by_topic.get(topic, {})
                groups.pop(name, None)
                if not groups:
                    self.by_topic.pop(topic, None)
        return events

    def scan(self, now: Time) -> tuple[tuple[str, ...], tuple[ConsumerEvent, ...]]:
        """Remove channels whose last heartbeat is too old (``scanNotActiveChannel``), without a CHANGE event.

        The channels, which shall be closed, and the events.
        """
        closed: list[str] = []
        events: list[ConsumerEvent] = []
        for name, group in list(self.groups.items()):
            silent = [
                channel
                for channel, known in group.channels.items()
                if now - known.last_update > self.channel_expired_ms
            ]
            subscriptions = tuple(group.topics.values())
            for channel in silent:
                client_id = group.channels.pop(channel).client_id
                group.ids = None
                events.append(ConsumerEvent(CLIENT_UNREGISTER, name, (), client_id, channel, subscriptions))
            closed += silent
            if not group.channels:
                del self.groups[name]
        return tuple(dict.fromkeys(closed)), tuple(events)

    def change(self, name: str) -> tuple[ConsumerEvent, ...]:
        """The CHANGE event for the group's members; none where nobody is in the group, or it is never notified."""
        group = self.groups.get(name)
        if group is None or not self._notified(group):
            return ()
        return (ConsumerEvent(CHANGE, name, tuple(group.channels)),)

    def client_ids(self, name: str) -> tuple[str, ...] | None:
        """The ids of the group's channels, an id with two channels twice; None where the group is not known."""
        group = self.groups.get(name)
        if group is not None and group.ids is None:
            group.ids = tuple(known.client_id for known in group.channels.values())
        return None if group is None else group.ids

    def find_subscription(self, name: str, topic: str) -> Subscription | None:
        group = self.groups.get(name)
        return None if group is None else group.topics.get(topic)

    def groups_of(self, topic: str) -> Iterable[str]:
        """Who consumes the topic, as the broker answers it; before 5.4 that is the topic itself."""
        return self.by_topic.get(topic, {})
