"""Recordings of rebalances of real RocketMQ clusters, played through the model and compared with it."""

from compare.conformance.rocketmq_recordings.player import RECORDINGS

__all__ = ["RECORDINGS"]
