"""The answer to most requests, the locks of ordered consumption (spec 2.9), and the numbers of all requests in the real
protocol (spec 10.3)."""

from typing import NamedTuple, TypeAlias

from protocols.java import Queue
from rocketmq_selfbalance.messages import membership, nameserver, offsets


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
    offsets.PullMessage: 11,
    offsets.QueryConsumerOffset: 14,
    offsets.UpdateConsumerOffset: 15,
    membership.UpdateTopic: 17,
    membership.UpdateBrokerConfig: 25,
    offsets.SearchOffsetByTimestamp: 29,
    offsets.GetMaxOffset: 30,
    offsets.GetMinOffset: 31,
    membership.HeartBeat: 34,
    membership.UnregisterClient: 35,
    offsets.ConsumerSendMsgBack: 36,
    membership.GetConsumerListByGroup: 38,
    membership.NotifyConsumerIdsChanged: 40,
    LockBatchMq: 41,
    UnlockBatchMq: 42,
    nameserver.RegisterBroker: 103,
    nameserver.UnregisterBroker: 104,
    nameserver.GetRouteInfo: 105,
    membership.UpdateSubscriptionGroup: 200,
    nameserver.WipeWritePerm: 205,
    membership.DeleteSubscriptionGroup: 207,
    membership.DeleteTopicInBroker: 215,
    nameserver.DeleteTopicInNameServer: 216,
    offsets.ResetConsumerClientOffset: 220,
    membership.ResetOffset: 222,
    nameserver.AddWritePerm: 327,
    nameserver.BrokerHeartbeat: 904,
}
"""Type of a request to its code in the real protocol."""

ClientRequest: TypeAlias = (
    nameserver.GetRouteInfo
    | membership.HeartBeat
    | membership.UnregisterClient
    | membership.GetConsumerListByGroup
    | LockBatchMq
    | UnlockBatchMq
    | offsets.UpdateConsumerOffset
    | offsets.QueryConsumerOffset
    | offsets.GetMaxOffset
    | offsets.GetMinOffset
    | offsets.SearchOffsetByTimestamp
    | offsets.PullMessage
    | offsets.ConsumerSendMsgBack
)
"""What a client asks; the rest comes from brokers and administrators."""
