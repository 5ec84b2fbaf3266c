"""Kafka's errors by their names (`kafka_coordinator.errors`), as the codec has them."""

from functools import cache

from kio.schema.errors import ErrorCode

from kafka_coordinator.errors import NONE

OK = ErrorCode.none


@cache
def code(name: str) -> ErrorCode:
    """The error of this name, such as ``REBALANCE_IN_PROGRESS``; `KeyError` where Kafka has none."""
    return OK if name == NONE else ErrorCode[name.lower()]
