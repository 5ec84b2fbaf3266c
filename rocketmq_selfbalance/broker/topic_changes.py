"""A broker's topics change: ``TopicConfigManager.updateTopicConfig`` and ``deleteTopicConfig`` with what follows for
records, held pulls and name servers (spec 1.1, 1.4)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker import pulls, registering
from rocketmq_selfbalance.broker.commands import Produce
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.broker.topics import SYSTEM_TOPICS
from rocketmq_selfbalance.codes import PERM_WRITE
from rocketmq_selfbalance.messages.topics import TopicConfig

NOT_PRODUCED = ("%", *SYSTEM_TOPICS)
"""Beginnings of the names of topics to which only brokers write."""


def put(broker: Broker, now: Time, config: TopicConfig, out: Outbox) -> None:
    """The topic is like this from now on; it is registered at once (``registerIncrementBrokerData``)."""
    if broker.disk.topics.put(now, config):
        open_queues(broker, now, config)
        pulls.reschedule(broker, now, config.topic, out)
        registering.register(broker, (config,), out)


def delete(broker: Broker, now: Time, topic: str, out: Outbox) -> None:
    """The topic is gone with its records and offsets. Name servers hear of it with the next registration."""
    if broker.disk.topics.delete(now, topic):
        broker.disk.store.delete(topic)
        broker.offsets.clean_topic(topic)
        broker.unflushed = True
        pulls.reschedule(broker, now, topic, out)


def produce(broker: Broker, now: Time, command: Produce, out: Outbox) -> None:
    """From now on producers write so many records per second to each queue of the topic."""
    broker.disk.store.set_rates(command)
    config = broker.disk.topics.configs.get(command.topic)
    if config is not None:
        open_queues(broker, now, config)
        pulls.reschedule(broker, now, command.topic, out)


def open_queues(broker: Broker, now: Time, config: TopicConfig) -> None:
    """Producers write to the topic's queues as its configuration says."""
    broker.disk.store.open(now, config.topic, config.write, write=_takes_load(config))


def _takes_load(config: TopicConfig) -> bool:
    return bool(config.perm & PERM_WRITE) and not config.topic.startswith(NOT_PRODUCED)
