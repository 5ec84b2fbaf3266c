"""The answer to most requests: what became of it, and nothing else.

Ordered consumption: a client asks a broker for the queues that it alone may read (spec 2.9).

The numbers of all requests in the real protocol (spec 10.3), and which of them come from clients.
"""

from typing import NamedTuple, TypeAlias

from protocols.java import Queue
from rocketmq_selfbalance.messages.membership import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    ResetOffset,
    UnregisterClient,
    UpdateBrokerConfig,
    UpdateSubscriptionGroup,
    UpdateTopic,
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
    ConsumerSendMsgBack,
    GetMaxOffset,
    GetMinOffset,
    PullMessage,
    QueryConsumerOffset,
    ResetConsumerClientOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)


class Answer(NamedTuple):
    """Done or refused, nothing else to tell."""

    correlation: int
    code: int


class LockBatchMq(NamedTuple):
    correlation: int
    group: str
    client_id: str
    queues: tuple[Queue, ...]


class LockBatchMqAnswer(NamedTuple):
    correlation: int
    code: int
    locked: tuple[Queue, ...]
    """Those of the asked queues that the client holds now, in the order asked."""


class UnlockBatchMq(NamedTuple):
    """Answered by `Answer` unless ``oneway``."""

    correlation: int
    group: str
    client_id: str
    queues: tuple[Queue, ...]
    oneway: bool = False


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
