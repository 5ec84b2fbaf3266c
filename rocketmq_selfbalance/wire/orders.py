"""Orders of tools and brokers, from frames to the simulation's commands."""

import re

from protocols.engine.nodes import Message
from rocketmq_selfbalance.messages.administration import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    ResetOffset,
    SubscriptionGroup,
    UpdateSubscriptionGroup,
    UpdateTopic,
)
from rocketmq_selfbalance.messages.nameserver import (
    AddWritePerm,
    DeleteTopicInNameServer,
    UnregisterBroker,
    WipeWritePerm,
)
from rocketmq_selfbalance.messages.topics import TopicConfig
from rocketmq_selfbalance.remoting import Frame
from rocketmq_selfbalance.wire.fields import FieldError, Fields, body_of, text, whole
from rocketmq_selfbalance.wire.messages import Administer

LEGAL_GROUP = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
"""Names that a group may have."""


def update_topic(number: int, frame: Frame, server: str) -> Message:
    """UPDATE_AND_CREATE_TOPIC."""
    fields = Fields(frame.fields)
    read, write = fields.whole("readQueueNums", 16), fields.whole("writeQueueNums", 16)
    if not (0 <= read <= 65_536 and 0 <= write <= 65_536):
        raise FieldError(f"a topic of {read} queues to read and {write} to write")
    return Administer(
        number, UpdateTopic(number, TopicConfig(fields.text("topic"), read, write, fields.whole("perm", 6)))
    )


def delete_topic(number: int, frame: Frame, server: str) -> Message:
    """DELETE_TOPIC_IN_BROKER."""
    return Administer(number, DeleteTopicInBroker(number, Fields(frame.fields).text("topic")))


def update_group(number: int, frame: Frame, server: str) -> Message:
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    told = body_of(frame)
    group = text(told, "groupName")
    if not LEGAL_GROUP.fullmatch(group):
        raise FieldError(f"the group name {group[:40]!r}")
    config = SubscriptionGroup(
        group,
        told.get("consumeEnable", True) is True,
        told.get("consumeBroadcastEnable", True) is True,
        min(max(whole("retryQueueNums", told.get("retryQueueNums", 1)), 0), 1024),
        whole("retryMaxTimes", told.get("retryMaxTimes", 16)),
        told.get("notifyConsumerIdsChangedEnable", True) is True,
    )
    return Administer(number, UpdateSubscriptionGroup(number, config))


def delete_group(number: int, frame: Frame, server: str) -> Message:
    """DELETE_SUBSCRIPTIONGROUP."""
    fields = Fields(frame.fields)
    clean = fields.flag("cleanOffset")
    return Administer(number, DeleteSubscriptionGroup(number, fields.text("groupName"), clean))


def reset(number: int, frame: Frame, server: str) -> Message:
    """INVOKE_BROKER_TO_RESET_OFFSET."""
    fields = Fields(frame.fields)
    offset = fields.optional("offset")
    return Administer(
        number,
        ResetOffset(
            number,
            fields.text("group"),
            fields.text("topic"),
            float(fields.whole("timestamp")),
            fields.flag("isForce"),
            fields.whole("queueId", -1),
            None if offset is None or offset < 0 else offset,
        ),
    )


def unregister_broker(number: int, frame: Frame, server: str) -> Message:
    """UNREGISTER_BROKER."""
    fields = Fields(frame.fields)
    cluster, broker, address = fields.text("clusterName"), fields.text("brokerName"), fields.text("brokerAddr")
    return Administer(number, UnregisterBroker(number, cluster, broker, fields.whole("brokerId"), address))


def wipe(number: int, frame: Frame, server: str) -> Message:
    """WIPE_WRITE_PERM_OF_BROKER."""
    return Administer(number, WipeWritePerm(number, Fields(frame.fields).text("brokerName")))


def add_perm(number: int, frame: Frame, server: str) -> Message:
    """ADD_WRITE_PERM_OF_BROKER."""
    return Administer(number, AddWritePerm(number, Fields(frame.fields).text("brokerName")))


def forget_topic(number: int, frame: Frame, server: str) -> Message:
    """DELETE_TOPIC_IN_NAMESRV."""
    return Administer(number, DeleteTopicInNameServer(number, Fields(frame.fields).text("topic")))
