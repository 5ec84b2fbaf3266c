"""What RocketMQ's brokers, name servers and clients print (4.9 and 5.x)."""

import re

from compare.logs.kafka_broker import table

MARKS = (
    "oRebalance,",
    "rebalanced result changed",
    "route info changed",
    "ClientChannelInfo",
    "SCAN: remove",
    "subscription changed",
    "broker's notification",
    "client factory [",
    "name from brokerAddrTable",
    "getConsumerIdListByGroup exception",
    "IDLE exception",
    "boot success",
)
"""One of these is in every line that is of use."""

_CHANNEL = r"ClientChannelInfo \[channel=\[id: \w+, L:\S+ [-!] R:/?(?P<text>[^\]]+)\], clientId=(?P<client>[^,\]]+)"
_MQ = r"MessageQueue \[topic=(?P<text>.+?), brokerName=(?P<instance>.+?), queueId=(?P<generation>\d{1,9})\]"

ROCKETMQ = table(
    r"""
r_connected: new consumer connected
    new consumer connected, group: <group> .*<channel>
r_unregistered: unregister a consumer[
    unregister a consumer\[(?P<group>[^\]]+)\].*<channel>
r_closed: from ConsumerGroupInfo groupChannelTable
    <channel>.*from ConsumerGroupInfo groupChannelTable, consumer group: <group>
r_expired: remove expired channel from ConsumerManager
    consumerTable\. channel=(?P<text>\S+), consumerGroup=<group>
r_version: NEW:
    subscription changed, group: <group> OLD: .* NEW: SubscriptionData \[.*?\btopic=(?P<instance>[^,]+),.*
     subVersion=(?P<text>1\d{12})\b
r_unsubscribed: remove topic
    subscription changed, group: <group> remove topic (?P<text>\S+)
r_idle: IDLE exception
    NETTY SERVER PIPELINE: IDLE exception \[(?P<text>[^\]]+)\]
r_lock_failed: because lock failed
    doRebalance, (?P<group>[^,]+), add a new mq failed, <queue>
r_added: add a new mq,
    doRebalance, (?P<group>[^,]+), add a new mq, <queue>
r_removed: remove unnecessary mq
    doRebalance, (?P<group>[^,]+), remove unnecessary mq, <queue>
r_result: rebalanced result changed
    allocateMessageQueueStrategyName=(?P<text>[^,]+), group=(?P<group>[^,]+), topic=(?P<instance>[^,]+),
     clientId=(?P<client>[^,]+), mqAllSize=\d+, cidAllSize=<generation>
r_notified: broker's notification
    the consumer group: <group> changed, rebalance immediately
r_route: route info changed
    the topic\[(?P<instance>[^\]]+)\] route info changed, ?(?P<text>old\[.*)
r_client: client factory [
    the client factory \[(?P<client>[^\]]+)\] (?:start|shutdown) OK
r_list_failed: getConsumerIdListByGroup exception
    getConsumerIdListByGroup exception, (?P<text>\S+) <group>
r_booted: boot success
    The broker\[(?P<text>[^,\]]+), .*\] boot success
r_broker_lost: remove name from brokerAddrTable
    remove name from brokerAddrTable OK, (?P<text>\S+)
""",
    channel=_CHANNEL,
    queue=_MQ,
)

_FIXED_ZONE = re.compile(
    r"\[[\w.$]+#[^\]]*:[^\]]*\] - |^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:INFO|WARN|ERROR|DEBUG) \S+ - "
)
EAST_8 = 8 * 3600
_UPDATED = re.compile(r"lastUpdateTimestamp=(1\d{12})")
_VERSION = re.compile(r" NEW: SubscriptionData .* subVersion=(1\d{12})")
_QUEUES = re.compile(r"brokerName=([^,\]]+), readQueueNums=(\d{1,9})")


def in_east_8(message: str) -> bool:
    """Whether the line has a pattern of 5.x's released logging settings, which fix GMT+8 whatever the machine's is."""
    return _FIXED_ZONE.search(message) is not None


def stated_time(message: str) -> float | None:
    """Seconds since 1970 of `lastUpdateTimestamp=`, which of a new connection is the moment of the line, or of the new
    version of a subscription."""
    match = _UPDATED.search(message) or _VERSION.search(message)
    return int(match.group(1)) / 1000 if match else None


def route_change(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Read queues per broker of a topic before and after, of a `route info changed` line."""
    before, _, after = text.partition(",new[")
    return (
        {name: int(number) for name, number in _QUEUES.findall(before)},
        {name: int(number) for name, number in _QUEUES.findall(after)},
    )
