"""The model of RocketMQ: every client computes its own share of the queues; no coordinator assigns it."""

from rocketmq_selfbalance.allocate import View, allocate
from rocketmq_selfbalance.registry import STRATEGIES, register
from rocketmq_selfbalance.strategies import AllocationError

__all__ = ["STRATEGIES", "AllocationError", "View", "allocate", "register"]
