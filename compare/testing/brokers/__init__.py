"""Brokers on sockets for tests of real clients: what the fixtures `kafka_broker` and `rocketmq_cluster` give.

Time here is real. The servers run in a thread of their own; every method may be called from any thread. Methods that
wait block their thread: a test in an event loop awaits `RealGroup.settled` instead of calling `settle`.
"""

from compare.testing.brokers.kafka_broker import KafkaBroker
from compare.testing.brokers.real_group import RealGroup
from compare.testing.brokers.rocketmq_brokers import RocketMQBrokers

__all__ = ["KafkaBroker", "RealGroup", "RocketMQBrokers"]
