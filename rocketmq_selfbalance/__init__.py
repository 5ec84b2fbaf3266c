"""RocketMQ's side: clients that balance themselves, each on its own."""

from rocketmq_selfbalance.allocate import allocate
from rocketmq_selfbalance.settings import STRATEGIES, register
from rocketmq_selfbalance.strategies import AllocationError
from rocketmq_selfbalance.views import View

__all__ = ["STRATEGIES", "AllocationError", "View", "allocate", "register"]
