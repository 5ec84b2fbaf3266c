"""What an administrator can do to a broker: RocketMQ's ``AdminBrokerProcessor``, ``Broker2Client.resetOffset``, and
``TopicConfigManager`` with what follows of a changed topic for records, held pulls and name servers (spec 1.1, 1.4,
2.5, 2.8). Commands are not answered."""

from collections.abc import Mapping
from dataclasses import replace

from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Committed, Noted
from protocols.java import Queue
from rocketmq_selfbalance.broker import connections, giving_out, pulls
from rocketmq_selfbalance.broker.state import SYSTEM_TOPICS, Broker, Handler
from rocketmq_selfbalance.broker.store import ChangeRole, Haunt, Produce, StopBroker, Write
from rocketmq_selfbalance.codes import PERM_WRITE
from rocketmq_selfbalance.messages import membership
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import ResetConsumerClientOffset

NOT_PRODUCED = ("%", *SYSTEM_TOPICS)
"""Beginnings of the names of topics to which only brokers write."""


def put(broker: Broker, now: Time, config: TopicConfig, out: Outbox) -> None:
    """The topic is like this from now on; it is registered at once (``registerIncrementBrokerData``)."""
    if broker.disk.topics.put(now, config):
        open_queues(broker, now, config)
        pulls.reschedule(broker, now, config.topic, out)
        giving_out.cut(broker, config.topic, config.read)
        giving_out.arrived(broker, now, config.topic, out)
        connections.register(broker, (config,), out)


def delete(broker: Broker, now: Time, topic: str, out: Outbox) -> None:
    """The topic is gone with its records and offsets. Name servers hear of it with the next registration."""
    if broker.disk.topics.delete(now, topic):
        broker.disk.store.delete(topic)
        broker.offsets.clean_topic(topic)
        broker.unflushed = True
        pulls.reschedule(broker, now, topic, out)
        giving_out.forget(broker, topic, out)


def produce(broker: Broker, now: Time, command: Produce, out: Outbox) -> None:
    """From now on producers write so many records per second to each queue of the topic."""
    broker.disk.store.set_rates(command)
    config = broker.disk.topics.configs.get(command.topic)
    if config is not None:
        open_queues(broker, now, config)
        pulls.reschedule(broker, now, command.topic, out)
        giving_out.arrived(broker, now, command.topic, out)


def open_queues(broker: Broker, now: Time, config: TopicConfig) -> None:
    """Producers write to the topic's queues as its configuration says."""
    takes_load = bool(config.perm & PERM_WRITE) and not config.topic.startswith(NOT_PRODUCED)
    broker.disk.store.open(now, config.topic, config.write, write=takes_load)


def _delete_group(
    broker: Broker, now: Time, sender: str, message: membership.DeleteSubscriptionGroup, out: Outbox
) -> None:
    broker.disk.groups.delete(message.group)
    if message.clean_offset:
        broker.offsets.remove_group(message.group)
        broker.unflushed = True


def _configure(broker: Broker, now: Time, sender: str, message: membership.UpdateBrokerConfig, out: Outbox) -> None:
    broker.settings = replace(broker.settings, use_server_side_reset_offset=message.use_server_side_reset_offset)


def _reset(broker: Broker, now: Time, sender: str, message: membership.ResetOffset, out: Outbox) -> None:
    config = broker.disk.topics.configs.get(message.topic)
    if config is None or not broker.disk.groups.knows(message.group):
        out.observe(Noted(f"{broker.name} resets nothing: it does not know {message.topic} or {message.group}"))
        return
    numbers = range(config.write) if message.queue_number < 0 else (message.queue_number,)
    found = {number: _offset(broker, now, message, number) for number in numbers}
    if not broker.settings.use_server_side_reset_offset:
        _reset_through_clients(broker, now, message, found, out)
        return
    broker.offsets.assign_resets(message.group, message.topic, found)
    giving_out.reset(broker, message.group, message.topic, found)
    for number, offset in found.items():
        out.observe(Committed(message.group, Queue(message.topic, broker.name, number), offset, None, None, ""))
    broker.unflushed = True


def _offset(broker: Broker, now: Time, message: membership.ResetOffset, number: int) -> int:
    """The offset to go back to, of one queue."""
    queue = broker.disk.store.queue(message.topic, number)
    if message.offset is not None:
        return message.offset
    if queue is None:
        return 0
    return queue.max_offset(now) if message.timestamp < 0 else queue.offset_at(message.timestamp, now)


def _reset_through_clients(
    broker: Broker, now: Time, message: membership.ResetOffset, found: Mapping[int, int], out: Outbox
) -> None:
    """Every connection of the group gets the new offsets, one way (``Broker2Client.resetOffset``). Without ``force`` no
    offset moves forward."""
    present = {number: broker.offsets.query(message.group, message.topic, number) for number in found}
    if any(offset < 0 for offset in present.values()):
        out.observe(Noted(f"{broker.name} resets nothing: {message.group} has no offset yet in {message.topic}"))
        return
    members = broker.consumers.groups.get(message.group)
    if members is None:
        out.observe(Noted(f"{broker.name} resets nothing: {message.group} is not online"))
        return
    offsets = tuple(
        (Queue(message.topic, broker.name, number), offset if message.force else min(offset, present[number]))
        for number, offset in found.items()
    )
    for channel in members.channels:
        broker.push(now, channel, ResetConsumerClientOffset(0, message.group, message.topic, offsets), out)


def _write(broker: Broker, now: Time, sender: str, message: Write, out: Outbox) -> None:
    queue = broker.disk.store.queue(message.topic, message.number)
    if queue is not None:
        queue.add(now, message.records)
        pulls.notify_message_arriving(broker, now, message.topic, message.number, out)
        giving_out.arrived(broker, now, message.topic, out)


def _stop(broker: Broker, now: Time, sender: str, message: StopBroker, out: Outbox) -> None:
    """The process ends properly (``BrokerController.shutdown``)."""
    connections.persist(broker)
    connections.unregister(broker, out)


def _haunt(broker: Broker, now: Time, sender: str, message: Haunt, out: Outbox) -> None:
    for channel, client_id, consumers in message.heartbeats:
        broker.ghosts.add(channel)
        for data in consumers:
            found = broker.consumers.register(now, channel, client_id, data, is_open=False)
            connections.handle(broker, now, found.events, out)


def _change_role(broker: Broker, now: Time, sender: str, message: ChangeRole, out: Outbox) -> None:
    broker.id = message.id
    connections.register(broker, broker.disk.topics.to_register(), out)


COMMANDS: Mapping[type[Message], Handler] = {
    membership.UpdateTopic: lambda broker, now, sender, message, out: put(broker, now, message.config, out),
    membership.DeleteTopicInBroker: lambda broker, now, sender, message, out: delete(broker, now, message.topic, out),
    membership.UpdateSubscriptionGroup: lambda broker, now, sender, message, out: broker.disk.groups.put(
        message.config
    ),
    membership.DeleteSubscriptionGroup: _delete_group,
    membership.UpdateBrokerConfig: _configure,
    membership.ResetOffset: _reset,
    Produce: lambda broker, now, sender, message, out: produce(broker, now, message, out),
    Write: _write,
    StopBroker: _stop,
    Haunt: _haunt,
    ChangeRole: _change_role,
}
"""Type of a command to what the broker does."""
