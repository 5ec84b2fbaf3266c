"""RocketMQ as a scenario's cluster: servers, clients, members and their settings."""

from typing import TYPE_CHECKING

from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from rocketmq_selfbalance.broker.consumers import (
        CHANGE,
        CLIENT_REGISTER,
        CLIENT_UNREGISTER,
        REGISTER,
        UNREGISTER,
        ConsumerEvent,
        ConsumerGroup,
        ConsumerManager,
    )
    from rocketmq_selfbalance.broker.node import BrokerNode
    from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager, Table, parse, stored_of
    from rocketmq_selfbalance.broker.state import REAL_NAMES as BROKER_NAMES
    from rocketmq_selfbalance.broker.state import (
        Broker,
        BrokerSettings,
        Disk,
        RebalanceLockManager,
        SubscriptionGroupManager,
        TopicConfigManager,
    )
    from rocketmq_selfbalance.broker.store import MessageStore, StopBroker
    from rocketmq_selfbalance.client.commands import ConsumerSpec, ListenerReturned, Shutdown
    from rocketmq_selfbalance.client.consumer import Consumer
    from rocketmq_selfbalance.client.locks import LockAll, UnlockAll
    from rocketmq_selfbalance.client.node import Client
    from rocketmq_selfbalance.client.offset_store import (
        NONE,
        LocalOffsets,
        OffsetsFile,
        OffsetStore,
        ReadFrom,
        RemoteOffsets,
        UnreadableOffsets,
        read_offsets,
    )
    from rocketmq_selfbalance.client.operator import ResetOffsets
    from rocketmq_selfbalance.client.pool import Work
    from rocketmq_selfbalance.client.process_queue import NOTHING, PopProcessQueue, ProcessQueue
    from rocketmq_selfbalance.client.pull_from_where import ComputePullFromWhere, ReadStored, Start
    from rocketmq_selfbalance.client.rebalance_service import DoRebalance
    from rocketmq_selfbalance.client.removal import Commit, Persist, PersistAll, RemoveOffset, RemoveProcessQueue
    from rocketmq_selfbalance.client.requests import consumer_data
    from rocketmq_selfbalance.client.settings import (
        CHOICES,
        PUSH,
        ClientSettings,
        PullSettings,
        field_of,
        with_settings,
    )
    from rocketmq_selfbalance.client.settings import REAL_NAMES as CLIENT_NAMES
    from rocketmq_selfbalance.client.threads import (
        AskAssignment,
        AskMaxOffset,
        AskMembers,
        AskOffsetAt,
        Assigned,
        AwaitConsumeLock,
        Call,
        Failure,
        HeartbeatToAll,
        LockQueues,
        QueryOffset,
        RefreshRoute,
        Sleep,
        Step,
        Thread,
        UnlockQueues,
    )
    from rocketmq_selfbalance.cluster import members as cluster_members
    from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
    from rocketmq_selfbalance.cluster.exploration import rules as exploration_rules
    from rocketmq_selfbalance.cluster.members import (
        Members,
        Standing,
        group_settings,
        member_settings,
        why_nobody,
        why_several,
    )
    from rocketmq_selfbalance.cluster.outages import NAME_SERVER
    from rocketmq_selfbalance.cluster.pop_cluster import REQUESTS, SIZES, cluster_of_variant
    from rocketmq_selfbalance.cluster.servers import configuration
    from rocketmq_selfbalance.codes import (
        BROADCASTING,
        CLUSTERING,
        CONSUME_FROM_FIRST_OFFSET,
        CONSUME_FROM_LAST_OFFSET,
        CONSUME_PASSIVELY,
        CONSUMER_NOT_ONLINE,
        DLQ_PREFIX,
        MASTER_ID,
        PERM_READ,
        PULL_NOT_FOUND,
        PULL_RETRY_IMMEDIATELY,
        RETRY_PREFIX,
        SUCCESS,
        TOPIC_NOT_EXIST,
    )
    from rocketmq_selfbalance.messages.membership import (
        ConsumerData,
        ConsumerList,
        GetConsumerListByGroup,
        HeartBeat,
        NotifyConsumerIdsChanged,
        Subscription,
        UnregisterClient,
    )
    from rocketmq_selfbalance.messages.nameserver import (
        DataVersion,
        GetRouteInfo,
        QueueData,
        TopicConfig,
        publish_queues,
        subscribe_queues,
    )
    from rocketmq_selfbalance.messages.offsets import (
        ConsumerSendMsgBack,
        PullMessage,
        QueryConsumerOffset,
        Retried,
        UpdateConsumerOffset,
    )
    from rocketmq_selfbalance.messages.requests import REQUEST_CODES, ClientRequest, LockBatchMq, UnlockBatchMq
    from rocketmq_selfbalance.nameserver import NameServer, NameServerSettings, RouteInfoManager
    from rocketmq_selfbalance.pop import (
        POP,
        Handle,
        Mode,
        OrderedBatch,
        OrderedQueues,
        PopTopic,
        Question,
        RequestModes,
        ReviveQueue,
        TopicRoutes,
        assigned,
    )
    from rocketmq_selfbalance.popping.proxy import PROXY
    from rocketmq_selfbalance.popping.settings import CLASSIC, CLASSIC_NAMES, POOLS, SIMPLE, PopSettings
    from rocketmq_selfbalance.popping.settings import CLIENT as CLIENT_CLASS
    from rocketmq_selfbalance.popping.settings import PUSH as PUSH_CONSUMER
    from rocketmq_selfbalance.popping.settings import SETTINGS as POP_SETTINGS
    from rocketmq_selfbalance.sending import REAL_NAMES as PRODUCER_SETTINGS
    from rocketmq_selfbalance.states import CLIENT, PROCESS_QUEUE
    from rocketmq_selfbalance.versions import VERSIONS, Version

__getattr__ = lazy_names(__name__)
