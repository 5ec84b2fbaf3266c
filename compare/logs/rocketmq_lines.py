"""What RocketMQ's brokers, name servers and clients print (4.9 and 5.x)."""

import re

from compare.logs.events import Event, OfGroup, Place, record
from compare.logs.templates import read_message, table


@record
class Rocket(OfGroup):
    """A line of RocketMQ; ``client``: the client id, "" where it names none."""

    client: str = ""


@record
class AtBroker(Rocket):
    """A broker's line about a client's connection; ``channel``: its address; ``at_broker``: the broker's end of it, ""
    where the line does not tell it; ``link``: netty's ``!`` where it is closed already."""

    channel: str = ""
    link: str = "-"
    at_broker: str = ""


@record
class Connected(AtBroker):
    """A member is new at a broker; ``seen_ms``: the moment, since 1970."""

    seen_ms: int

    @property
    def is_late(self) -> bool:
        """Whether the broker read a heartbeat of a connection that is closed already."""
        return self.link == "!"


@record
class Unregistered(AtBroker):
    """A member closed; ``seen_ms``: its last heartbeat."""

    seen_ms: int


@record
class ChannelClosed(AtBroker):
    """A member's connection closed; ``seen_ms``: its last heartbeat."""

    seen_ms: int


@record
class ChannelExpired(AtBroker):
    """A member sent no heartbeat for too long."""


@record
class ChannelIdle(AtBroker):
    """A connection was closed since nothing came over it."""


@record
class NewVersion(Rocket):
    """A member's subscription has another version; ``version_ms``: the moment that it was set to."""

    topic: str
    version_ms: int


@record
class TopicRemoved(Rocket):
    """A member's heartbeat took a topic out of the group's subscription."""

    topic: str


@record
class OfQueue(Rocket):
    """A client's line about a queue."""

    topic: str
    broker: str
    queue: int


@record
class LockFailed(OfQueue):
    """Its lock is another's."""


@record
class QueueAdded(OfQueue):
    """It is the client's now."""


@record
class QueueRemoved(OfQueue):
    """It is the client's no more."""


@record
class Result(Rocket):
    """What a client's pass gave it."""

    strategy: str
    topic: str


@record
class RouteChanged(Rocket):
    """A client saw another route of a topic; ``change``: in its words, which `route_change` reads."""

    topic: str
    change: str


@record
class ClientSwitched(Rocket):
    """A client was started or shut down; ``what``: `start` or `shutdown`."""

    what: str


@record
class BrokerBooted(Rocket):
    """A broker is there."""

    broker: str


@record
class NameServerBooted(Rocket):
    """A name server was started."""


@record
class RouteUnknown(Rocket):
    """A client had no answer about its routes."""


@record
class Disconnected(Rocket):
    """The other end of a client's connection is gone; ``address``: of the broker or name server."""

    address: str


@record
class BrokerLost(Rocket):
    """A name server has no address of a broker any more."""

    broker: str


_CHANNEL = (
    "ClientChannelInfo [channel=[id: {}, L:{at_broker} {link} R:/{channel}], clientId={*client}, language={},"
    " version={}, lastUpdateTimestamp={seen_ms}]"
)
_QUEUE = "MessageQueue [topic={topic}, brokerName={broker}, queueId={queue}]"
_RESULT = "allocateMessageQueueStrategyName={strategy}, group={group}, topic={topic}, clientId={client}, mqAllSize={}"

_MESSAGES = table(
    (Connected, "new consumer connected, group: {group} {} channel: " + _CHANNEL),
    (Unregistered, "unregister a consumer[{group}] from consumerGroupInfo " + _CHANNEL),
    (
        ChannelClosed,
        f"NETTY EVENT: remove not active channel[{_CHANNEL}] from ConsumerGroupInfo groupChannelTable, consumer group:"
        " {group}",
    ),
    (
        ChannelExpired,
        "SCAN: remove expired channel from ConsumerManager consumerTable. channel={channel}, consumerGroup={group}",
    ),
    (
        NewVersion,
        "subscription changed, group: {group} OLD: {*} NEW: SubscriptionData [classFilterMode={}, topic={topic},"
        " subString={*}, subVersion={version_ms}, {}",
    ),
    (TopicRemoved, "subscription changed, group: {group} remove topic {topic} SubscriptionData {}"),
    (ChannelIdle, "NETTY SERVER PIPELINE: IDLE exception [{channel}]"),
    (LockFailed, f"doRebalance, {{group}}, add a new mq failed, {_QUEUE}, because lock failed"),
    (QueueAdded, f"doRebalance, {{group}}, add a new mq, {_QUEUE}"),
    (QueueRemoved, f"doRebalance, {{group}}, remove unnecessary mq, {_QUEUE}"),
    (Result, "client rebalanced result changed. " + _RESULT),
    (Result, "rebalanced result changed. " + _RESULT),
    (RouteChanged, "the topic[{topic}] route info changed, {change}"),
    (RouteChanged, "the topic[{topic}] route info changed,{change}"),
    (ClientSwitched, "the client factory [{client}] {what} OK"),
    (BrokerBooted, "The broker[{broker}, {}] boot success. {}"),
    (NameServerBooted, "The Name Server boot success. {}"),
    (RouteUnknown, "updateTopicRouteInfoFromNameServer Exception"),
    (Disconnected, "NETTY CLIENT PIPELINE: channelInactive, the channel[addr={address}, id={}]"),
    (BrokerLost, "unregisterBroker, remove name from brokerAddrTable OK, {broker}"),
    (BrokerLost, "remove name from brokerAddrTable OK, {broker}"),
)

_FIXED_ZONE = re.compile(
    r"\[[\w.$]{1,80}#[^\]]{0,80}:[^\]]{0,20}\] - "
    r"|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:INFO|WARN|ERROR|DEBUG) \S{1,120} - "
)
EAST_8 = 8 * 3600
_ADDRESSES = re.compile(r"brokerName=([^,\]]+), brokerAddrs=\{([^}]{0,2000})\}")
_QUEUES = re.compile(r"brokerName=([^,\]]+), readQueueNums=(\d{1,9})")


def of_rocketmq(message: str, line: str, place: Place) -> Event | None:
    """What a message of RocketMQ tells; the moments that some of them hold become the place's hint."""
    found = read_message(_MESSAGES, message, place)
    if isinstance(found, Connected | Unregistered | ChannelClosed):
        place.hint = found.seen_ms / 1000
    elif isinstance(found, NewVersion):
        place.hint = found.version_ms / 1000
    if found is not None and place.clock == "local" and _FIXED_ZONE.search(line[:300]):
        place.in_east_8 = True
    return found


def route_change(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Read queues per broker of a topic before and after, of a `route info changed` line."""
    before, _, after = text.partition(",new[")
    return (
        {name: int(number) for name, number in _QUEUES.findall(before)},
        {name: int(number) for name, number in _QUEUES.findall(after)},
    )


def addresses_before(text: str) -> dict[str, frozenset[str]]:
    """Addresses per broker of a topic before the change that a `route info changed` line tells of."""
    before = text.partition(",new[")[0]
    return {
        name: frozenset(each.partition("=")[2] for each in those.split(", "))
        for name, those in _ADDRESSES.findall(before)
    }
