"""The model of Kafka: a coordinator runs the group, and an assignor assigns the partitions to its members."""

from kafka_coordinator.assign import STRATEGIES, assign, register

__all__ = ["STRATEGIES", "assign", "register"]
