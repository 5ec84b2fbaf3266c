"""What the real protocol carries, and where it carries the fields of our messages.

`LAYOUTS` has the request codes, and of what no recorded frame shows, as the protocol describes it, the names in the
header and the paths in the body (``a.b``: ``b`` of each element of ``a``). Those of answers bear the code of their
request. `PLACES` says where
each field of our messages travels: ``frame`` (every frame has it), ``header``, ``body``, or a record's ``property``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rocketmq_selfbalance.messages import membership, nameserver, offsets, requests


class Layout(NamedTuple):
    code: int
    header: frozenset[str] = frozenset()
    body: frozenset[str] = frozenset()
    is_answer: bool = False


def layout(code: int, header: str = "", body: str = "", *, is_answer: bool = False) -> Layout:
    return Layout(code, frozenset(header.split()), frozenset(body.split()), is_answer)


FRAME = frozenset({"code", "opaque", "flag"})
RECORD = frozenset({"RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "reconsumeTimes"})
"""Of a record of a retry topic: two properties, and a field of every record."""

_TOPIC = "topicConfigSerializeWrapper.topicConfigTable"
_CONSUMER = "consumerDataSet"
_READS = f"{_CONSUMER}.subscriptionDataSet"

LAYOUTS: Mapping[type[object], Layout] = {
    nameserver.RegisterBroker: layout(
        103,
        "brokerName brokerAddr clusterName haServerAddr brokerId heartbeatTimeoutMillis enableActingMaster compressed"
        " bodyCrc32",
        f"{_TOPIC}.topicName {_TOPIC}.readQueueNums {_TOPIC}.writeQueueNums {_TOPIC}.perm {_TOPIC}.attributes"
        " topicConfigSerializeWrapper.dataVersion.stateVersion topicConfigSerializeWrapper.dataVersion.timestamp"
        " topicConfigSerializeWrapper.dataVersion.counter filterServerList",
    ),
    nameserver.UnregisterBroker: layout(104, "brokerName brokerAddr clusterName brokerId"),
    nameserver.BrokerHeartbeat: layout(904, "clusterName brokerAddr brokerName brokerId heartbeatTimeoutMills"),
    nameserver.GetRouteInfo: layout(105),
    nameserver.RouteInfoAnswer: layout(105, is_answer=True),
    nameserver.WipeWritePerm: layout(205, "brokerName"),
    nameserver.AddWritePerm: layout(327, "brokerName"),
    nameserver.DeleteTopicInNameServer: layout(216, "topic"),
    membership.HeartBeat: layout(34),
    membership.UnregisterClient: layout(35),
    membership.GetConsumerListByGroup: layout(38),
    membership.ConsumerList: layout(38, is_answer=True),
    membership.NotifyConsumerIdsChanged: layout(40),
    requests.LockBatchMq: layout(41),
    requests.LockBatchMqAnswer: layout(41, is_answer=True),
    requests.UnlockBatchMq: layout(42),
    offsets.UpdateConsumerOffset: layout(15),
    offsets.QueryConsumerOffset: layout(14, "setZeroIfNotFound"),
    offsets.GetMaxOffset: layout(30, "bname"),
    offsets.GetMinOffset: layout(31, "topic queueId bname"),
    offsets.SearchOffsetByTimestamp: layout(29, "topic queueId bname timestamp"),
    offsets.OffsetAnswer: layout(14, is_answer=True),
    offsets.ResetConsumerClientOffset: layout(220, "topic group timestamp isForce", "offsetTable"),
    offsets.PullMessage: layout(11),
    offsets.PullAnswer: layout(11, is_answer=True),
    offsets.ConsumerSendMsgBack: layout(36),
    requests.Answer: layout(34, is_answer=True),
    membership.UpdateTopic: layout(
        17, "topic defaultTopic readQueueNums writeQueueNums perm topicFilterType topicSysFlag order attributes force"
    ),
    membership.DeleteTopicInBroker: layout(215, "topic"),
    membership.UpdateSubscriptionGroup: layout(
        200,
        "",
        "groupName consumeEnable consumeFromMinEnable consumeBroadcastEnable consumeMessageOrderly retryQueueNums"
        " retryMaxTimes brokerId whichBrokerWhenConsumeSlowly notifyConsumerIdsChangedEnable groupSysFlag",
    ),
    membership.DeleteSubscriptionGroup: layout(207, "groupName cleanOffset"),
    membership.ResetOffset: layout(222, "topic group timestamp isForce queueId offset"),
    membership.UpdateBrokerConfig: layout(25, "", "useServerSideResetOffset"),
}

_BROKER = {"cluster": "header:clusterName", "address": "header:brokerAddr"}
_NAMED = {**_BROKER, "broker": "header:brokerName", "broker_id": "header:brokerId"}
_OF_QUEUE = {"queue": "header:topic header:queueId header:bname"}
_OF_GROUP = {"group": "header:consumerGroup", **_OF_QUEUE}
_LOCKED = {
    "group": "body:consumerGroup",
    "client_id": "body:clientId",
    "queues": "body:mqSet.topic body:mqSet.brokerName body:mqSet.queueId",
}

PLACES: Mapping[type[object], Mapping[str, str]] = {
    nameserver.RegisterBroker: {
        **_NAMED,
        "topics": f"body:{_TOPIC}.topicName",
        "version": "body:topicConfigSerializeWrapper.dataVersion.counter",
    },
    nameserver.UnregisterBroker: _NAMED,
    nameserver.BrokerHeartbeat: _BROKER,
    nameserver.GetRouteInfo: {"topic": "header:topic"},
    nameserver.RouteInfoAnswer: {"route": "body:queueDatas.brokerName body:brokerDatas.brokerName"},
    nameserver.WipeWritePerm: {"broker": "header:brokerName"},
    nameserver.AddWritePerm: {"broker": "header:brokerName"},
    nameserver.DeleteTopicInNameServer: {"topic": "header:topic"},
    membership.HeartBeat: {"client_id": "body:clientID", "consumers": f"body:{_CONSUMER}.groupName"},
    membership.UnregisterClient: {"client_id": "header:clientID", "group": "header:consumerGroup"},
    membership.GetConsumerListByGroup: {"group": "header:consumerGroup"},
    membership.ConsumerList: {"client_ids": "body:consumerIdList"},
    membership.NotifyConsumerIdsChanged: {"group": "header:consumerGroup"},
    requests.LockBatchMq: _LOCKED,
    requests.LockBatchMqAnswer: {
        "locked": "body:lockOKMQSet.topic body:lockOKMQSet.brokerName body:lockOKMQSet.queueId"
    },
    requests.UnlockBatchMq: _LOCKED,
    offsets.UpdateConsumerOffset: {**_OF_GROUP, "offset": "header:commitOffset"},
    offsets.QueryConsumerOffset: {**_OF_GROUP, "set_zero_if_not_found": "header:setZeroIfNotFound"},
    offsets.GetMaxOffset: _OF_QUEUE,
    offsets.GetMinOffset: _OF_QUEUE,
    offsets.SearchOffsetByTimestamp: {**_OF_QUEUE, "timestamp": "header:timestamp"},
    offsets.OffsetAnswer: {"offset": "header:offset"},
    offsets.ResetConsumerClientOffset: {
        "group": "header:group",
        "topic": "header:topic",
        "offsets": "body:offsetTable",
    },
    offsets.PullMessage: {
        **_OF_GROUP,
        "offset": "header:queueOffset",
        "max_messages": "header:maxMsgNums",
        "suspend_ms": "header:suspendTimeoutMillis",
        "commit_offset": "header:commitOffset header:sysFlag",
        "subscription_version": "header:subVersion",
    },
    offsets.PullAnswer: {
        "next_offset": "header:nextBeginOffset",
        "min_offset": "header:minOffset",
        "max_offset": "header:maxOffset",
        "retried": "body:records",
    },
    offsets.ConsumerSendMsgBack: {
        "group": "header:group",
        "queue": "header:originTopic header:originMsgId header:bname",
        "offset": "header:offset",
        "delay_level": "header:delayLevel",
        "max_reconsume_times": "header:maxReconsumeTimes",
    },
    requests.Answer: {},
    membership.UpdateTopic: {"config": "header:topic"},
    membership.DeleteTopicInBroker: {"topic": "header:topic"},
    membership.UpdateSubscriptionGroup: {"config": "body:groupName"},
    membership.DeleteSubscriptionGroup: {"group": "header:groupName", "clean_offset": "header:cleanOffset"},
    membership.ResetOffset: {
        "group": "header:group",
        "topic": "header:topic",
        "timestamp": "header:timestamp",
        "force": "header:isForce",
        "queue_number": "header:queueId",
        "offset": "header:offset",
    },
    membership.UpdateBrokerConfig: {"use_server_side_reset_offset": "body:useServerSideResetOffset"},
}
"""Message to its fields but those that every frame carries (`IN_EVERY_FRAME`)."""

IN_EVERY_FRAME = {"correlation": "frame:opaque", "code": "frame:code", "oneway": "frame:flag"}

PARTS: Mapping[type[object], tuple[tuple[type[object], ...], Mapping[str, str]]] = {
    membership.ConsumerData: (
        (membership.HeartBeat,),
        {
            "group": f"body:{_CONSUMER}.groupName",
            "consume_type": f"body:{_CONSUMER}.consumeType",
            "message_model": f"body:{_CONSUMER}.messageModel",
            "consume_from_where": f"body:{_CONSUMER}.consumeFromWhere",
            "subscriptions": f"body:{_READS}.topic",
        },
    ),
    membership.Subscription: (
        (membership.HeartBeat,),
        {
            "topic": f"body:{_READS}.topic",
            "expression": f"body:{_READS}.subString",
            "version": f"body:{_READS}.subVersion",
        },
    ),
    nameserver.Route: (
        (nameserver.RouteInfoAnswer,),
        {"queues": "body:queueDatas.brokerName", "brokers": "body:brokerDatas.brokerName"},
    ),
    nameserver.QueueData: (
        (nameserver.RouteInfoAnswer,),
        {
            "broker": "body:queueDatas.brokerName",
            "read": "body:queueDatas.readQueueNums",
            "write": "body:queueDatas.writeQueueNums",
            "perm": "body:queueDatas.perm",
        },
    ),
    nameserver.BrokerData: (
        (nameserver.RouteInfoAnswer,),
        {
            "cluster": "body:brokerDatas.cluster",
            "broker": "body:brokerDatas.brokerName",
            "addresses": "body:brokerDatas.brokerAddrs",
        },
    ),
    nameserver.TopicConfig: (
        (nameserver.RegisterBroker,),
        {
            "topic": f"body:{_TOPIC}.topicName",
            "read": f"body:{_TOPIC}.readQueueNums",
            "write": f"body:{_TOPIC}.writeQueueNums",
            "perm": f"body:{_TOPIC}.perm",
            "kind": f"body:{_TOPIC}.attributes",
        },
    ),
    nameserver.DataVersion: (
        (nameserver.RegisterBroker,),
        {
            "state_version": "body:topicConfigSerializeWrapper.dataVersion.stateVersion",
            "timestamp": "body:topicConfigSerializeWrapper.dataVersion.timestamp",
            "counter": "body:topicConfigSerializeWrapper.dataVersion.counter",
        },
    ),
    membership.SubscriptionGroup: (
        (membership.UpdateSubscriptionGroup,),
        {
            "group": "body:groupName",
            "consume_enable": "body:consumeEnable",
            "consume_broadcast_enable": "body:consumeBroadcastEnable",
            "retry_queue_nums": "body:retryQueueNums",
            "retry_max_times": "body:retryMaxTimes",
            "notify_consumer_ids_changed_enable": "body:notifyConsumerIdsChangedEnable",
            "consume_message_orderly": "body:consumeMessageOrderly",
        },
    ),
    offsets.Retried: (
        (offsets.PullAnswer,),
        {
            "origin": "property:RETRY_TOPIC property:ORIGIN_MESSAGE_ID",
            "origin_offset": "property:ORIGIN_MESSAGE_ID",
            "times": "property:reconsumeTimes",
        },
    ),
}
"""Record within messages to these messages and to where its fields are."""

KNOWN = {
    (offsets.ConsumerSendMsgBack, "tries"): (
        "a client that gives a record up in ordered consumption sends it anew, as a producer does (SEND_MESSAGE_V2,"
        " 310), with the number of tries as a property; the model has one request for both ways"
    )
}
"""Fields that no wire carries, with the reason why they are still there. Shall become fewer."""
