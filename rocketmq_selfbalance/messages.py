"""What RocketMQ's clients, brokers and name servers say to each other: bare records, one per request and answer.

Every record has the ``correlation`` number that its sender made up; an answer repeats it. One-way requests have one,
too, but nobody answers them. `REQUEST_CODES` gives each request's number in the real protocol (spec 10.3), an
answer's ``code`` is one of `rocketmq_selfbalance.codes`. A broker's address is the name of its node; in a cluster
without replicas it equals the broker's name.

``member`` is no part of the real protocol: it is the consumer's name in the scenario, which brokers repeat in the
facts they tell and never look at.
"""

from typing import Any, NamedTuple, TypeAlias

from protocols.load import Production
from protocols.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.codes import PERM_READ, PERM_WRITE


class Answer(NamedTuple):
    """Done or refused, nothing else to tell."""

    correlation: int
    code: int


# Name server: brokers and administrators speak to it.


class TopicConfig(NamedTuple):
    """A topic at one broker."""

    topic: str
    read: int
    """Queues that consumers see: 0 to ``read - 1``."""
    write: int
    """Queues that producers write to: 0 to ``write - 1``."""
    perm: int = PERM_READ | PERM_WRITE


class DataVersion(NamedTuple):
    """Of a broker's topics: ``counter`` rises with each change, ``timestamp`` is its time in milliseconds."""

    state_version: int = 0
    timestamp: Time = 0
    counter: int = 0


class RegisterBroker(NamedTuple):
    """A broker tells all its topics, or those that have changed. Not answered in the model."""

    correlation: int
    cluster: str
    broker: str
    broker_id: int
    address: str
    topics: tuple[TopicConfig, ...]
    version: DataVersion


class UnregisterBroker(NamedTuple):
    correlation: int
    cluster: str
    broker: str
    broker_id: int
    address: str


class BrokerHeartbeat(NamedTuple):
    """One way: the broker is there (only where `enableSlaveActingMaster` or the controller is in use)."""

    correlation: int
    cluster: str
    address: str


class GetRouteInfo(NamedTuple):
    correlation: int
    topic: str


class QueueData(NamedTuple):
    """A topic's queues at the broker of this name."""

    broker: str
    read: int
    write: int
    perm: int


class BrokerData(NamedTuple):
    cluster: str
    broker: str
    addresses: tuple[tuple[int, str], ...]
    """Broker id and address (a node's name), by id; 0 is the master."""


class Route(NamedTuple):
    """Equal routes are equal values: both lists are sorted by broker name."""

    queues: tuple[QueueData, ...]
    brokers: tuple[BrokerData, ...]


class RouteInfoAnswer(NamedTuple):
    correlation: int
    code: int
    """`SUCCESS` or `TOPIC_NOT_EXIST`."""
    route: Route | None
    revision: int = 0
    """No part of the real protocol: rises with each change of the name server's tables. While it is the same, every
    answer is."""


class WipeWritePerm(NamedTuple):
    """An administrator takes the write bit from all topics of a broker, at the name server."""

    correlation: int
    broker: str


class AddWritePerm(NamedTuple):
    """An administrator makes all topics of a broker readable and writable, at the name server."""

    correlation: int
    broker: str


class DeleteTopicInNameServer(NamedTuple):
    correlation: int
    topic: str


# Brokers: clients speak to them.


class Subscription(NamedTuple):
    """One topic that a consumer subscribes to. ``version`` is a time in milliseconds: the newest one wins."""

    topic: str
    expression: str
    version: Time


class ConsumerData(NamedTuple):
    """One consumer of a client, as a heartbeat tells it."""

    group: str
    consume_type: str
    message_model: str
    consume_from_where: str
    subscriptions: tuple[Subscription, ...]
    """Sorted by topic. Send the same object again while nothing changes: brokers then need not compare it."""


class HeartBeat(NamedTuple):
    """Answered by `Answer`."""

    correlation: int
    client_id: str
    consumers: tuple[ConsumerData, ...]


class UnregisterClient(NamedTuple):
    """A consumer of the client shuts down. Answered by `Answer`."""

    correlation: int
    client_id: str
    group: str


class GetConsumerListByGroup(NamedTuple):
    correlation: int
    group: str


class ConsumerList(NamedTuple):
    correlation: int
    code: int
    """`SYSTEM_ERROR` where the broker knows nobody of the group."""
    client_ids: tuple[str, ...]
    """In no order that means anything; an id with two connections is there twice."""


class NotifyConsumerIdsChanged(NamedTuple):
    """One way, from a broker to every connection of the group: its members are not the same any more."""

    correlation: int
    group: str


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


class UpdateConsumerOffset(NamedTuple):
    """Commit. Answered by `Answer` unless ``oneway`` (what clients do)."""

    correlation: int
    group: str
    queue: Queue
    offset: int
    oneway: bool = True
    member: str | None = None


class QueryConsumerOffset(NamedTuple):
    """Answered by `OffsetAnswer`, `QUERY_NOT_FOUND` where there is none."""

    correlation: int
    group: str
    queue: Queue
    set_zero_if_not_found: bool = True


class GetMaxOffset(NamedTuple):
    """Answered by `OffsetAnswer`: offset of the next record to be written."""

    correlation: int
    queue: Queue


class GetMinOffset(NamedTuple):
    """Answered by `OffsetAnswer`: offset of the oldest record that is still there."""

    correlation: int
    queue: Queue


class SearchOffsetByTimestamp(NamedTuple):
    """Answered by `OffsetAnswer`: the first record stored at or after ``timestamp`` (virtual time)."""

    correlation: int
    queue: Queue
    timestamp: Time


class OffsetAnswer(NamedTuple):
    correlation: int
    code: int
    offset: int
    """-1 where ``code`` is not `SUCCESS`."""


class PullMessage(NamedTuple):
    """Held by the broker for up to ``suspend_ms`` while there is nothing to return."""

    correlation: int
    group: str
    queue: Queue
    offset: int
    max_messages: int = 32
    suspend_ms: Time = 0.0
    commit_offset: int | None = None
    """Committed when the request comes in, whatever the pull finds."""
    subscription_version: Time = 0.0
    member: str | None = None
    watch: bool = False
    """No part of the real protocol: a pull that finds nothing is answered at once, and it is the client who lets the
    ``suspend_ms`` pass before it pulls again. It computes from ``production`` which records come in the meantime.
    What it cannot compute it is told by a `WatchedPullAnswer`: a record of a retry topic has come, the topic or its
    production is not what it was, a record has come after a reset. So nobody keeps a clock for a queue at rest."""


class Retried(NamedTuple):
    """A record of a retry topic: a copy of one that a consumer sent back."""

    origin: Queue
    """The queue where the record was first."""
    origin_offset: int
    times: int
    """How often it was sent back so far, at least 1."""


class PullAnswer(NamedTuple):
    """``code`` is `SUCCESS`: records ``offset`` of the request to ``next_offset - 1``. `PULL_NOT_FOUND`,
    `PULL_RETRY_IMMEDIATELY`: nothing, go on at ``next_offset``. `PULL_OFFSET_MOVED`: the offset is outside of what
    the queue holds, or was reset: go on at ``next_offset``. Any other: an error."""

    correlation: int
    code: int
    next_offset: int
    min_offset: int
    max_offset: int
    production: Production | None = None
    """What the queue takes in from now on, for a client that computes what its later pulls will bring; None where it
    cannot be told in advance (retry topics)."""
    retried: tuple[Retried, ...] = ()
    """Of a retry topic: the records, in order."""


class WatchedPullAnswer(NamedTuple):
    """No part of the real protocol: the answer that a held pull would get now, to a pull with ``watch`` that was
    answered with nothing before. Counts as the client's pull being answered early: it pulls again at once."""

    correlation: int
    group: str
    queue: Queue
    answer: PullAnswer


class ConsumerSendMsgBack(NamedTuple):
    """A record failed: the broker shall give it to the group again, through the retry topic. Answered by `Answer`.

    ``delay_level``: 0 lets the broker choose (3 + earlier retries), below 0 sends to the dead letters.
    """

    correlation: int
    group: str
    queue: Queue
    """The queue it was pulled from: of the topic, or of the retry topic."""
    offset: int
    delay_level: int = 0
    max_reconsume_times: int = -1
    """-1: the group's ``retryMaxTimes`` at the broker."""
    tries: int = 0
    """Ordered: how often the client tried it again itself."""


class ResetConsumerClientOffset(NamedTuple):
    """One way, from a broker to every connection of the group: consumers go on from these offsets."""

    correlation: int
    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]


# Brokers: administrators speak to them.


class UpdateTopic(NamedTuple):
    """Create a topic at this broker or change it."""

    correlation: int
    config: TopicConfig


class DeleteTopicInBroker(NamedTuple):
    correlation: int
    topic: str


class SubscriptionGroup(NamedTuple):
    """What a broker knows of a group before anybody joins it, under the real names of the fields (spec 2.5)."""

    group: str
    consume_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    notify_consumer_ids_changed_enable: bool = True


class UpdateSubscriptionGroup(NamedTuple):
    """Create a group at this broker or change it."""

    correlation: int
    config: SubscriptionGroup


class DeleteSubscriptionGroup(NamedTuple):
    correlation: int
    group: str
    clean_offset: bool = False


class ResetOffset(NamedTuple):
    """Set the group's offsets of a topic at this broker back to a moment (below 0: to the end), or those of one queue
    to ``offset``; at the broker's own table, or (``through_clients``) by telling the running clients."""

    correlation: int
    group: str
    topic: str
    timestamp: Time
    force: bool = True
    """Through clients only: also where that moves an offset forward."""
    through_clients: bool = False
    queue_number: int = -1
    offset: int | None = None


class Produce(NamedTuple):
    """Producers write so many records per second to each queue of the topic from now on. (No request of RocketMQ: the
    world's word to the broker, as producers are no nodes.)"""

    correlation: int
    topic: str
    per_second: float


class Write(NamedTuple):
    """Producers write so many records at once to one queue. (No request of RocketMQ either.)"""

    correlation: int
    topic: str
    number: int
    records: int


class StopBroker(NamedTuple):
    """The process is asked to end: it flushes what it holds and takes leave of the name servers. Its world ends it
    right after."""

    correlation: int


REQUEST_CODES: dict[type[tuple[Any, ...]], int] = {
    PullMessage: 11,
    QueryConsumerOffset: 14,
    UpdateConsumerOffset: 15,
    UpdateTopic: 17,
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
