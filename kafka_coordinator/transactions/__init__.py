"""The transaction coordinator of a Kafka broker (spec 12): who may write under a transactional id, and which partitions
its transaction has. It knows neither log nor socket: what is to be written follows from what it returns."""

from kafka_coordinator.transactions.coordinator import (
    TRANSACTION_SETTINGS,
    Ended,
    Producer,
    Transactions,
    TransactionSettings,
)

__all__ = ["TRANSACTION_SETTINGS", "Ended", "Producer", "TransactionSettings", "Transactions"]
