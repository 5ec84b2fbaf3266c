"""RocketMQ's name server: what brokers there are, and where each topic has its queues (spec 1)."""

from rocketmq_selfbalance.nameserver.node import NameServer
from rocketmq_selfbalance.nameserver.route_info import NameServerSettings, RouteInfoManager

__all__ = ["NameServer", "NameServerSettings", "RouteInfoManager"]
