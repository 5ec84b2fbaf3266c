"""Kafka's consumer from the client's side (spec 4, 6.7): a node that joins a group, of either protocol, and reads."""

from kafka_coordinator.consumer.commands import (
    Close,
    CommitNow,
    Freeze,
    GoOn,
    NewLoad,
    ReportDelivered,
    StopPolling,
    Subscribe,
    TakeFor,
    Thaw,
)
from kafka_coordinator.consumer.node import Consumer
from kafka_coordinator.consumer.settings import ConsumerConfig, ConsumerSettings, Load

__all__ = [
    "Close",
    "CommitNow",
    "Consumer",
    "ConsumerConfig",
    "ConsumerSettings",
    "Freeze",
    "GoOn",
    "Load",
    "NewLoad",
    "ReportDelivered",
    "StopPolling",
    "Subscribe",
    "TakeFor",
    "Thaw",
]
