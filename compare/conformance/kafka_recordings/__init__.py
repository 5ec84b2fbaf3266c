"""Recordings of rebalances of real Kafka clusters, played through the model and compared with it."""

from compare.conformance.kafka_recordings.player import RECORDINGS

__all__ = ["RECORDINGS"]
