"""Recordings of servers that fail, of real clusters: `comparing` says what is compared, each system has a file."""

from compare.conformance.broker_failures.kafka import KAFKA_BROKERS as KAFKA_BROKERS
from compare.conformance.broker_failures.rocketmq import ROCKETMQ_BROKERS as ROCKETMQ_BROKERS
