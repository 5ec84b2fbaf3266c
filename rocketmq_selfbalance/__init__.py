"""The model of RocketMQ: every client computes its own share of the queues; no coordinator assigns it."""

from rocketmq_selfbalance.allocate import allocate
from rocketmq_selfbalance.member_views import View
from rocketmq_selfbalance.registry import STRATEGIES, register
from rocketmq_selfbalance.strategies import AllocationError

__all__ = ["STRATEGIES", "AllocationError", "View", "allocate", "register"]
