"""The group coordinator of a Kafka broker (spec 1 to 3); groups of the consumer protocol are in
`consumer_groups`."""

from kafka_coordinator.coordinator.commands import OffsetsLeaders, Topics
from kafka_coordinator.coordinator.log import OffsetsTopic
from kafka_coordinator.coordinator.node import Coordinator
from kafka_coordinator.coordinator.settings import BrokerSettings

__all__ = ["BrokerSettings", "Coordinator", "OffsetsLeaders", "OffsetsTopic", "Topics"]
