"""What Kafka and RocketMQ share: queues, members, groups, allocations, strategies. The package knows neither system."""

from protocols.errors import GroupError, StrategyError, UserError
from protocols.groups import Allocation, Group, Member
from protocols.java import Queue, queue_key, sort_queues
from protocols.strategies import Registry

__all__ = [
    "Allocation",
    "Group",
    "GroupError",
    "Member",
    "Queue",
    "Registry",
    "StrategyError",
    "UserError",
    "queue_key",
    "sort_queues",
]
