"""RocketMQ's side: clients that balance themselves, each on its own."""

from rocketmq_selfbalance.allocate import allocate
from rocketmq_selfbalance.member_views import View
from rocketmq_selfbalance.registry import STRATEGIES, register
from rocketmq_selfbalance.strategies import AllocationError

__all__ = ["STRATEGIES", "AllocationError", "View", "allocate", "register"]
