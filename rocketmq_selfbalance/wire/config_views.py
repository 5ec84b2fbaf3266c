"""Views of a broker's topics, groups, settings and records (``AdminBrokerProcessor``, ``QueryMessageProcessor``)."""

from protocols.engine.nodes import Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker.state import SYSTEM_TOPICS
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.remoting import NUMBERS, RELEASES
from rocketmq_selfbalance.wire import stored_messages
from rocketmq_selfbalance.wire.answers import in_pieces, to_json
from rocketmq_selfbalance.wire.messages import Ask, Fields, Reply
from rocketmq_selfbalance.wire.sending import AUTO_TOPIC
from rocketmq_selfbalance.wire.served import Served

_MOST_FOUND = 64
"""Records that a search for a key gives at most."""


def _topic_json(config: TopicConfig) -> dict[str, object]:
    return {
        "attributes": {} if config.kind == "NORMAL" else {"message.type": config.kind},
        "order": False,
        "perm": config.perm,
        "readQueueNums": config.read,
        "topicFilterType": "SINGLE_TAG",
        "topicName": config.topic,
        "topicSysFlag": 0,
        "writeQueueNums": config.write,
    }


def topic(served: Served, now: Time, message: Ask) -> Reply:
    name = Fields(message.fields).text("topic")
    config = served.broker.disk.topics.configs.get(name)
    if config is None:
        remark = f"No topic in this broker. topic: {name}"
        return Reply(message.correlation, codes.TOPIC_NOT_EXIST, remark=remark)
    return Reply(message.correlation, codes.SUCCESS, body=to_json(_topic_json(config)))


def _version(served: Served) -> dict[str, int]:
    version = served.broker.disk.topics.version
    stamp = served.epoch(version.timestamp)
    return {"counter": version.counter, "stateVersion": version.state_version, "timestamp": stamp}


def topics(served: Served, now: Time, message: Ask) -> Reply:
    configs = [*served.broker.disk.topics.configs.items()]
    rows = ((name, _topic_json(config)) for name, config in configs)
    body = in_pieces({"dataVersion": _version(served)}, "topicConfigTable", rows)
    return Reply(message.correlation, codes.SUCCESS, body=body)


def system_topics(served: Served, now: Time, message: Ask) -> Reply:
    return Reply(message.correlation, codes.SUCCESS, body=to_json({"topicList": [*SYSTEM_TOPICS, AUTO_TOPIC]}))


def _group_json(config: SubscriptionGroup) -> dict[str, object]:
    return {
        "attributes": {},
        "brokerId": 0,
        "consumeBroadcastEnable": config.consume_broadcast_enable,
        "consumeEnable": config.consume_enable,
        "consumeFromMinEnable": True,
        "consumeMessageOrderly": config.consume_message_orderly,
        "consumeTimeoutMinute": 15,
        "groupName": config.group,
        "groupSysFlag": 0,
        "notifyConsumerIdsChangedEnable": config.notify_consumer_ids_changed_enable,
        "retryMaxTimes": config.retry_max_times,
        "retryQueueNums": config.retry_queue_nums,
        "whichBrokerWhenConsumeSlowly": 1,
    }


def group(served: Served, now: Time, message: Ask) -> Reply:
    name = Fields(message.fields).text("group")
    config = served.broker.disk.groups.configs.get(name)
    if config is None:
        remark = f"No group in this broker. group: {name}"
        return Reply(message.correlation, codes.SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark)
    return Reply(message.correlation, codes.SUCCESS, body=to_json(_group_json(config)))


def groups(served: Served, now: Time, message: Ask) -> Reply:
    configs = served.broker.disk.groups.configs
    table = {name: _group_json(config) for name, config in configs.items()}
    told = {"dataVersion": _version(served), "subscriptionGroupTable": table}
    return Reply(message.correlation, codes.SUCCESS, body=to_json(told))


# Records.


def record_by_position(served: Served, now: Time, message: Ask) -> Reply:
    """VIEW_MESSAGE_BY_ID: the record that stands at this place of the commit log."""
    position = Fields(message.fields).whole("offset")
    found = served.store.found_at(position)
    if found is None:
        remark = f"can not find message by the offset, {position}"
        return Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark)
    return Reply(message.correlation, codes.SUCCESS, body=found.content)


def records_by_key(served: Served, now: Time, message: Ask) -> Reply:
    """QUERY_MESSAGE: records of a topic with this key, or with this id of their producer's."""
    fields = Fields(message.fields)
    topic, key = fields.text("topic"), fields.text("key")
    most = min(max(fields.whole("maxNum", 32), 1), _MOST_FOUND)
    begin, end = fields.whole("beginTimestamp", 0), fields.whole("endTimestamp", 2**62)
    queues = served.store.queues.get(topic, {})
    found: list[bytes] = []
    for number in queues:
        records = served.store.records(topic, number)
        for kept in records.stored if records is not None else ():
            if begin <= served.epoch(kept.written) <= end and len(found) < most:
                stored = stored_messages.decode(kept.content)
                properties = stored_messages.parse_properties(stored.record.properties)
                if key == properties.get("UNIQ_KEY") or key in properties.get("KEYS", "").split():
                    found.append(kept.content)
    if not found:
        return Reply(
            message.correlation, codes.QUERY_NOT_FOUND, remark="can not find message, maybe time range not correct"
        )
    told = {"indexLastUpdatePhyoffset": str(served.store.position), "indexLastUpdateTimestamp": str(served.epoch(now))}
    return Reply(message.correlation, codes.SUCCESS, told, b"".join(found))


def oldest_record(served: Served, now: Time, message: Ask) -> Reply:
    """GET_EARLIEST_MSG_STORETIME: when the first record of a queue was stored, in milliseconds since 1970."""
    fields = Fields(message.fields)
    queue = served.store.queue(fields.text("topic"), fields.whole("queueId"))
    written = None if queue is None else queue.written_at(queue.min_offset)
    told = -1 if written is None else served.epoch(written)
    return Reply(message.correlation, codes.SUCCESS, {"timestamp": str(told)})


# The broker.


def broker_config(served: Served, now: Time, message: Ask) -> Reply:
    """GET_BROKER_CONFIG: settings as properties."""
    host, _, port = served.address.rpartition(":")
    wire, settings = served.wire, served.broker.settings
    told = {
        "brokerName": served.broker.name,
        "brokerClusterName": wire.cluster,
        "brokerId": 0,
        "brokerIP1": host,
        "listenPort": port,
        "autoCreateTopicEnable": str(wire.auto_create_topic).lower(),
        "autoCreateSubscriptionGroup": str(settings.auto_create_subscription_group).lower(),
        "defaultTopicQueueNums": wire.default_topic_queues,
        "maxMessageSize": wire.most_message_bytes,
        "useServerSideResetOffset": str(settings.use_server_side_reset_offset).lower(),
        "enablePropertyFilter": "false",
    }
    body = "".join(f"{name}={value}\n" for name, value in told.items()).encode()
    return Reply(message.correlation, codes.SUCCESS, {"version": "{}"}, body)


def runtime(served: Served, now: Time, message: Ask) -> Reply:
    """GET_BROKER_RUNTIME_INFO: counters as mqadmin's clusterList and brokerStatus read them. Rates and times of a disk
    that is not there are 0."""
    store, oldest = served.store, served.store.oldest
    rates, version = "0.0 0.0 0.0", served.broker.settings.version.name
    numbers = {
        "bootTimestamp": served.epoch(served.started),
        "brokerActive": "true",
        "brokerRole": "ASYNC_MASTER",
        "brokerVersion": NUMBERS[version],
        "brokerVersionDesc": f"V{RELEASES[version].replace('.', '_')}",
        "commitLogDiskRatio": "0.0",
        "commitLogMaxOffset": store.position,
        "commitLogMinOffset": 0,
        "consumeQueueDiskRatio": "0.0",
        "dispatchBehindBytes": 0,
        "earliestMessageTimeStamp": -1 if oldest is None else served.epoch(oldest),
        "EndTransactionQueueSize": 0,
        "EndTransactionThreadPoolQueueCapacity": 0,
        "endTransactionThreadPoolQueueHeadWaitTimeMills": 0,
        "getFoundTps": rates,
        "getMessageEntireTimeMax": 0,
        "getMissTps": rates,
        "getTotalTps": rates,
        "getTransferredTps": rates,
        "msgGetTotalTodayNow": served.read,
        "msgGetTotalTodayMorning": 0,
        "msgGetTotalYesterdayMorning": 0,
        "msgPutTotalTodayNow": store.written,
        "msgPutTotalTodayMorning": 0,
        "msgPutTotalYesterdayMorning": 0,
        "pageCacheLockTimeMills": 0,
        "pullThreadPoolQueueCapacity": 0,
        "pullThreadPoolQueueHeadWaitTimeMills": 0,
        "pullThreadPoolQueueSize": 0,
        "putMessageTimesTotal": store.written,
        "putTps": rates,
        "queryThreadPoolQueueCapacity": 0,
        "queryThreadPoolQueueHeadWaitTimeMills": 0,
        "queryThreadPoolQueueSize": 0,
        "remainHowManyDataToFlush": "0 B",
        "sendThreadPoolQueueCapacity": 0,
        "sendThreadPoolQueueHeadWaitTimeMills": 0,
        "sendThreadPoolQueueSize": 0,
        "startAcceptSendRequestTimeStamp": 0,
        "timerOffsetBehind": 0,
        "timerReadBehind": 0,
        "timerCongestNum": 0,
    }
    table = {name: str(value) for name, value in numbers.items()}
    return Reply(message.correlation, codes.SUCCESS, body=to_json({"table": table}))
