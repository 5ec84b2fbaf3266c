"""Kafka's side: a coordinator runs the group, an assignor shares the partitions out."""

from kafka_coordinator.assign import STRATEGIES, assign, register

__all__ = ["STRATEGIES", "assign", "register"]
