"""Which of Kafka's nodes are quiescent, and how they are moved on over skipped times."""

from typing import Final

from kafka_coordinator.cluster.admin import Admin
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.consumer import Consumer
from kafka_coordinator.fast_forward.admin import AdminAdapter
from kafka_coordinator.fast_forward.broker import BrokerAdapter
from kafka_coordinator.fast_forward.consumer import ConsumerAdapter
from protocols.engine.fast_forward.adapters import Adapters

ADAPTERS: Final[Adapters] = {Broker: BrokerAdapter, Consumer: ConsumerAdapter, Admin: AdminAdapter}

LEAST_EVENTS: Final = 1000
"""A look at a small group costs what fifty events do: a twentieth of these."""
