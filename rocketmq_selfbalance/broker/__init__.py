"""RocketMQ's broker: who is in a group, how far it has come, who holds a lock, what a pull finds (spec 2)."""

from rocketmq_selfbalance.broker.disk import Disk
from rocketmq_selfbalance.broker.node import Broker
from rocketmq_selfbalance.broker.settings import BrokerSettings

__all__ = ["Broker", "BrokerSettings", "Disk"]
