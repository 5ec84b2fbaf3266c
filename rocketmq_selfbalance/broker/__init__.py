"""RocketMQ's broker: who is in a group, how far it has come, who holds a lock, what a pull finds (spec 2)."""

from rocketmq_selfbalance.broker.node import BrokerNode
from rocketmq_selfbalance.broker.state import Broker, BrokerSettings, Disk

__all__ = ["Broker", "BrokerNode", "BrokerSettings", "Disk"]
