"""Kinds of reasons of harm, and which settings would change each, by family of systems."""

from collections.abc import Mapping

# Kinds of reasons, see `compare.documents.comparison.ReasonRecord`.
DOWN, PAUSED, PAUSED_CODE, STUCK, AWAY, UNNOTICED = (
    "no broker",
    "owner stands still",
    "owner's code stands still",
    "owner stuck",
    "owner away",
    "no owner until noticed",
)
LOCKED, REBALANCING, UNOWNED, OPEN, NEVER_OWNED, NEW_QUEUES, AGAIN, REFUSED = (
    "locked by another",
    "no owner during rebalance",
    "no owner",
    "no owner yet",
    "never owned",
    "new queues",
    "handled again",
    "pulls refused",
)
TWO_OWNERS, PAUSED_OWNER, SET_BACK, NOT_COMMITTED = (
    "two owners",
    "an earlier owner stands still",
    "offsets set back",
    "not committed",
)
BEGINS_BEHIND, COMMITTED_PAST, PASSED_OVER = "begins behind", "committed past", "passed over"
TIME_LIMIT, SESSION, REBALANCES = "time limit", "session timed out", "rebalances"
OVERLOAD, HOT_QUEUE, RESTLESS, STALLED = "overload", "hot queue", "no rest", "stalled before"
BUSY, WAITS = "owner busy with other queues", "not acknowledged"
GIVEN_AGAIN, GIVEN_UP, HELD = "given again", "given up", "in hand"
AT_ONCE, LATER, OVERLAPPING, KEYS_MOVED = "several threads", "handled again later", "several members", "keys moved"
EXPECTED, UNKNOWN = "expected", "unknown"

NO_SETTING = "no setting"
"""Nothing that anybody sets would change it, as how long a broker is frozen."""

SLOW_START = "fetches under way, records before these, a member that had just begun"
"""What may keep an owner that runs from handling anything for a while, where no fact says what did."""
WAITS_ELSEWHERE = f"a receive that waits at another topic or broker (awaitDuration), {SLOW_START}"
"""The same of RocketMQ's simple consumers, whose loop asks one topic and one broker at a time."""
FULL_CACHE = "requests for records that bring less than members handle, as those of a client whose cache is full"
"""What may keep members that are given records from handling all that comes: RocketMQ's push consumer asks again a
second after its cache was full (spec grpc)."""

NOT_LATEST = "subscription unknown or not latest"
"""Why a RocketMQ broker refuses pulls of a member whose allocation has just changed, or whose group it knows by another
member's topics."""

NUMBER_OF_MEMBERS = "number of members"
"""Alone, where a group has none."""

KAFKA, CONSUMER, ZOOKEEPER, ROCKETMQ, ORDERLY = "kafka", "consumer protocol", "zookeeper", "rocketmq", "orderly"
SHARE, POP = "share", "pop"


def _all(*names: str, **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Settings of both protocols of Kafka and, where nothing else is told, of the others."""
    given = {KAFKA: names, CONSUMER: names, ZOOKEEPER: names, ROCKETMQ: names, ORDERLY: names}
    given[CONSUMER] = others.get("consumer", given[CONSUMER])
    given[ZOOKEEPER] = others.get("zookeeper", given[ZOOKEEPER])
    given[ROCKETMQ] = given[ORDERLY] = others.get("rocketmq", given[ROCKETMQ])
    given[SHARE] = others.get("share", given[CONSUMER])
    given[POP] = others.get("pop", given[ROCKETMQ])
    return given


_SESSION = _all(
    "session.timeout.ms",
    consumer=("group.consumer.session.timeout.ms",),
    zookeeper=("zookeeper.session.timeout.ms",),
    rocketmq=("channelExpiredTimeout",),
    share=("group.share.session.timeout.ms",),
)
_REPLICAS = _all("replication.factor", rocketmq=("enableControllerMode",))
_COMMITS = _all(
    "auto.commit.interval.ms",
    rocketmq=("persistConsumerOffsetInterval",),
    share=("group.share.record.lock.duration.ms",),
    pop=("defaultInvisibleTimeMills",),
)
_SHARING = _all(
    "partition.assignment.strategy",
    consumer=("group.consumer.heartbeat.interval.ms",),
    zookeeper=("rebalance.backoff.ms",),
    rocketmq=("rocketmq.client.rebalance.minInterval", "rocketmq.client.rebalance.waitInterval"),
    pop=("not known",),
)
_START = _all("auto.offset.reset", rocketmq=("consumeFromWhere",))
_RETRIES = _all(
    "max.poll.interval.ms",
    rocketmq=("maxReconsumeTimes",),
    share=("group.share.delivery.count.limit",),
    pop=("retryMaxTimes",),
)
_MEMBERS = _all(
    NUMBER_OF_MEMBERS,
    "time per record",
    rocketmq=(NUMBER_OF_MEMBERS, "consumeThreadMax"),
    pop=(NUMBER_OF_MEMBERS, "consumptionThreadCount"),
)

_OF_FAMILIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    DOWN: _REPLICAS,
    WAITS: _all("broker.session.timeout.ms", rocketmq=("pollNameServerInterval",), pop=("not known",)),
    AT_ONCE: _all("threads", rocketmq=("orderly", "consumeThreadMax"), pop=("consumeMessageOrderly",)),
    LATER: _COMMITS,
    OVERLAPPING: {**_SESSION, SHARE: ("queues with owners",), POP: ("queues with owners",)},
    KEYS_MOVED: _all("number of partitions", rocketmq=("number of queues", "orderTopicConf")),
    PAUSED: _SESSION,
    PAUSED_CODE: _all(
        "max.poll.interval.ms",
        zookeeper=(NO_SETTING,),
        rocketmq=(NO_SETTING,),
        share=("group.share.record.lock.duration.ms",),
        pop=("defaultInvisibleTimeMills",),
    ),
    STUCK: {**_RETRIES, SHARE: ("share.acknowledgement.mode",)},
    AWAY: _SESSION,
    UNNOTICED: _SESSION,
    LOCKED: _all("rocketmq.broker.rebalance.lockMaxLiveTime"),
    REBALANCING: _SHARING,
    UNOWNED: _all("subscriptions of the members", rocketmq=("client id, subscription and strategy of the members",)),
    OPEN: _all("length of the run"),
    NEVER_OWNED: _all("subscriptions of the members"),
    NEW_QUEUES: _all(
        "metadata.max.age.ms",
        consumer=("group.consumer.heartbeat.interval.ms",),
        zookeeper=("rebalance.backoff.ms",),
        rocketmq=("pollNameServerInterval", "rocketmq.client.rebalance.waitInterval"),
    ),
    AGAIN: _COMMITS,
    BUSY: _all(
        "time per record",
        "max.poll.records",
        rocketmq=("consumeThreadMax", "consumeMessageBatchMaxSize"),
        pop=("consumptionThreadCount",),
    )
    | {ORDERLY: ("consumeThreadMax", "rocketmq.client.maxTimeConsumeContinuously")},
    REFUSED: _all("reconnect.backoff.max.ms", rocketmq=("heartbeatBrokerInterval",)),
    TWO_OWNERS: _all(
        *_SESSION[KAFKA],
        consumer=_SESSION[CONSUMER],
        zookeeper=_SESSION[ZOOKEEPER],
        rocketmq=("rocketmq.client.rebalance.waitInterval", "orderly"),
    ),
    PAUSED_OWNER: _SESSION,
    SET_BACK: _all("auto.commit.interval.ms", rocketmq=("persistConsumerOffsetInterval",)),
    NOT_COMMITTED: _COMMITS,
    GIVEN_AGAIN: _COMMITS,
    GIVEN_UP: _RETRIES,
    HELD: {**_COMMITS, POP: ("enableProxyAutoRenew", "maxCacheMessageCount")},
    BEGINS_BEHIND: _START,
    COMMITTED_PAST: _COMMITS,
    PASSED_OVER: {**_RETRIES, **dict.fromkeys((KAFKA, CONSUMER, ZOOKEEPER), ("what the user's code does with it",))},
    TIME_LIMIT: _all("max.poll.interval.ms", rocketmq=("consumeTimeout",)),
    SESSION: _SESSION,
    REBALANCES: _SHARING,
    OVERLOAD: _MEMBERS,
    HOT_QUEUE: _all(
        "key of the records",
        "time per record",
        rocketmq=("key of the records", "consumeThreadMax"),
        pop=("key of the records", "consumptionThreadCount"),
    ),
    RESTLESS: _SHARING,
    STALLED: _MEMBERS,
    EXPECTED: _SHARING,
    UNKNOWN: _all("not known"),
}

_OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "SimpleConsumer": {
        "enableProxyAutoRenew": "invisibleDuration",
        "maxCacheMessageCount": "maxMessageNum",
        "consumptionThreadCount": "threads",
        "defaultInvisibleTimeMills": "invisibleDuration",
    },
    "DefaultMQPushConsumer": {
        "enableProxyAutoRenew": "popInvisibleTime",
        "maxCacheMessageCount": "popThresholdForQueue",
        "consumptionThreadCount": "consumeThreadMax",
        "defaultInvisibleTimeMills": "popInvisibleTime",
        "retryMaxTimes": "maxReconsumeTimes",
        "consumeMessageOrderly": "queues with owners",
    },
}
"""Class of RocketMQ's clients to what takes the place of a push consumer's setting there."""

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    kind: {
        **families,
        **{client: tuple(names.get(name, name) for name in families[POP]) for client, names in _OTHERWISE.items()},
    }
    for kind, families in _OF_FAMILIES.items()
}
"""Kind of reason to the settings that would change it, by family of systems; where none does, what does."""
