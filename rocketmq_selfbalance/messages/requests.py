"""The numbers of all requests in the real protocol (spec 10.3), and which of them come from clients."""

from typing import TypeAlias

from rocketmq_selfbalance.messages.administration import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    ResetOffset,
    UpdateBrokerConfig,
    UpdateSubscriptionGroup,
    UpdateTopic,
)
from rocketmq_selfbalance.messages.locks import LockBatchMq, UnlockBatchMq
from rocketmq_selfbalance.messages.membership import (
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    UnregisterClient,
)
from rocketmq_selfbalance.messages.nameserver import (
    AddWritePerm,
    BrokerHeartbeat,
    DeleteTopicInNameServer,
    GetRouteInfo,
    RegisterBroker,
    UnregisterBroker,
    WipeWritePerm,
)
from rocketmq_selfbalance.messages.offsets import (
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    ResetConsumerClientOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.messages.pulling import ConsumerSendMsgBack, PullMessage

REQUEST_CODES: dict[type[tuple[object, ...]], int] = {
    PullMessage: 11,
    QueryConsumerOffset: 14,
    UpdateConsumerOffset: 15,
    UpdateTopic: 17,
    UpdateBrokerConfig: 25,
    SearchOffsetByTimestamp: 29,
    GetMaxOffset: 30,
    GetMinOffset: 31,
    HeartBeat: 34,
    UnregisterClient: 35,
    ConsumerSendMsgBack: 36,
    GetConsumerListByGroup: 38,
    NotifyConsumerIdsChanged: 40,
    LockBatchMq: 41,
    UnlockBatchMq: 42,
    RegisterBroker: 103,
    UnregisterBroker: 104,
    GetRouteInfo: 105,
    UpdateSubscriptionGroup: 200,
    WipeWritePerm: 205,
    DeleteSubscriptionGroup: 207,
    DeleteTopicInBroker: 215,
    DeleteTopicInNameServer: 216,
    ResetConsumerClientOffset: 220,
    ResetOffset: 222,
    AddWritePerm: 327,
    BrokerHeartbeat: 904,
}
"""Type of a request to its code in the real protocol."""

ClientRequest: TypeAlias = (
    GetRouteInfo
    | HeartBeat
    | UnregisterClient
    | GetConsumerListByGroup
    | LockBatchMq
    | UnlockBatchMq
    | UpdateConsumerOffset
    | QueryConsumerOffset
    | GetMaxOffset
    | GetMinOffset
    | SearchOffsetByTimestamp
    | PullMessage
    | ConsumerSendMsgBack
)
"""What a client asks; the rest comes from brokers and administrators."""
