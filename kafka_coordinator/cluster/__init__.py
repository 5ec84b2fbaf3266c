"""Kafka as a scenario lives in it: brokers, controller, topics, members, administrators, settings, described groups."""

from typing import TYPE_CHECKING

from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from kafka_coordinator.cluster.broker import Broker, ClusterState
    from kafka_coordinator.cluster.brokers import FENCES, MOVES
    from kafka_coordinator.cluster.cluster import KafkaCluster
    from kafka_coordinator.cluster.controller import Controller
    from kafka_coordinator.cluster.exploration import rules as exploration_rules
    from kafka_coordinator.cluster.members import (
        group_settings,
        member_settings,
        producer_settings,
        protocol_of_member,
        protocol_of_variant,
    )
    from kafka_coordinator.cluster.share_logs import Persister
    from kafka_coordinator.cluster.views import GroupDescription, description_of
    from kafka_coordinator.consumer import commits as consumer_commits
    from kafka_coordinator.consumer.callbacks import ASSIGNED, LOST, REVOKED
    from kafka_coordinator.consumer.commands import (
        Assign,
        AssignAsMember,
        BeginPoll,
        Close,
        CommitNow,
        EndPoll,
        Handle,
        ListenerReturned,
        Seek,
        Store,
    )
    from kafka_coordinator.consumer.commits import DONE, FAILED, REBALANCING, RETRIABLE
    from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL
    from kafka_coordinator.consumer.node import Consumer
    from kafka_coordinator.consumer.settings import (
        GROUP_PROTOCOL,
        NAMES,
        REFUSED_UNDER,
        ConsumerConfig,
        ConsumerSettings,
        Load,
    )
    from kafka_coordinator.consumer.share.node import ShareConsumer
    from kafka_coordinator.consumer.share.settings import ShareConsumerSettings
    from kafka_coordinator.consumer.state.consumer import ConsumerState
    from kafka_coordinator.consumer.state.reading import ListenerCall
    from kafka_coordinator.consumer.states import CONSUMER
    from kafka_coordinator.coordinator.commands import (
        GroupSettings,
        OffsetsDecided,
        OffsetsLeaders,
        RebalanceGroup,
        Topics,
    )
    from kafka_coordinator.coordinator.consumer_groups import states as consumer_groups_states
    from kafka_coordinator.coordinator.consumer_groups.checks import Refused, check_request
    from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
    from kafka_coordinator.coordinator.consumer_groups.member import JOINING, Goal, Standing, reconcile
    from kafka_coordinator.coordinator.core import Core
    from kafka_coordinator.coordinator.group import Group
    from kafka_coordinator.coordinator.log import offsets_partition
    from kafka_coordinator.coordinator.node import Coordinator, offsets_topic
    from kafka_coordinator.coordinator.refusals import REFUSE, refusal
    from kafka_coordinator.coordinator.settings import DEFAULTS as GROUP_SETTINGS
    from kafka_coordinator.coordinator.settings import NAMES as BROKER_NAMES
    from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
    from kafka_coordinator.coordinator.share_groups import states as share_groups_states
    from kafka_coordinator.coordinator.share_groups.group import ShareGroup
    from kafka_coordinator.coordinator.share_groups.messages import (
        PERSISTER,
        AlterShareGroupOffsets,
        AlterShareGroupOffsetsAnswer,
        DeleteShareGroupOffsets,
        DeleteShareGroupOffsetsAnswer,
        InitializeShareStates,
        ShareGroupDescribe,
        ShareGroupDescribeAnswer,
        ShareGroupHeartbeat,
        ShareGroupHeartbeatAnswer,
        ShareStatesAnswer,
    )
    from kafka_coordinator.coordinator.states import GROUP
    from kafka_coordinator.coordinator.transactional_offsets import transactional_commit_error
    from kafka_coordinator.errors import (
        COORDINATOR_NOT_AVAILABLE,
        FENCED_INSTANCE_ID,
        FENCED_MEMBER_EPOCH,
        INVALID_REQUEST,
        NONE,
        NOT_COORDINATOR,
        UNKNOWN_MEMBER_ID,
    )
    from kafka_coordinator.frame_sizes import REQUESTS, SIZES
    from kafka_coordinator.messages import (
        CONSUMER_PROTOCOL_TYPE,
        ConsumerGroupDescribe,
        ConsumerGroupDescribeAnswer,
        ConsumerGroupHeartbeat,
        ConsumerGroupHeartbeatAnswer,
        ConsumerMetadata,
        DeleteGroup,
        DeleteGroupAnswer,
        DescribeGroup,
        DescribeGroupAnswer,
        FindCoordinator,
        Heartbeat,
        HeartbeatAnswer,
        JoinGroup,
        JoinGroupAnswer,
        LeaveGroup,
        LeaveGroupAnswer,
        Leaving,
        ListGroups,
        ListGroupsAnswer,
        OffsetCommit,
        OffsetCommitAnswer,
        OffsetDelete,
        OffsetDeleteAnswer,
        OffsetFetch,
        OffsetFetchAnswer,
        Opaque,
        SyncGroup,
        SyncGroupAnswer,
        TxnOffsetCommit,
    )
    from kafka_coordinator.share.leader import ShareLeader
    from kafka_coordinator.share.messages import FIRST_EPOCH, ShareAcknowledge, ShareFetch
    from kafka_coordinator.share.persister import ShareStates
    from kafka_coordinator.share.settings import NAMES as SHARE_NAMES
    from kafka_coordinator.share.settings import ShareSettings, share_settings
    from kafka_coordinator.versions import VERSIONS, Version
    from kafka_coordinator.zookeeper.cluster import ZooKeeperCluster
    from kafka_coordinator.zookeeper.exploration import rules as zookeeper_exploration_rules
    from kafka_coordinator.zookeeper.settings import NAMES as ZOOKEEPER_NAMES
    from kafka_coordinator.zookeeper.settings import STRATEGIES as ZOOKEEPER_STRATEGIES
    from kafka_coordinator.zookeeper.settings import ConsumerSettings as ZooKeeperSettings
    from kafka_coordinator.zookeeper.settings import group_settings as zookeeper_group_settings
    from kafka_coordinator.zookeeper.settings import member_settings as zookeeper_member_settings

__getattr__ = lazy_names(__name__)
