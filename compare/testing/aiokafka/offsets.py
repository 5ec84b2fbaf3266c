"""Offsets that the user's code commits: their shape, and what a refused commit raises."""

from typing import Any

from compare.testing.aiokafka.classes import OffsetAndMetadata, TopicPartition, errors
from kafka_coordinator.consumer.commits import RETRIABLE

_TOO_LATE = (
    "Commit cannot be completed since the group has already rebalanced and may have assigned the partitions to another"
    " member"
)


def checked(offsets: Any) -> dict[Any, Any]:
    """Partition to offset and metadata. Raises what aiokafka raises: `ValueError` for no dictionary or an empty one,
    `TypeError` for wrong keys and metadata."""
    if not offsets or not isinstance(offsets, dict):
        raise ValueError(offsets)
    found = {}
    for partition, each in offsets.items():
        if not isinstance(partition, TopicPartition):
            raise TypeError("Key should be TopicPartition instance")
        if isinstance(each, int):
            offset, metadata = each, ""
        else:
            try:
                offset, metadata = each
            except Exception:
                raise ValueError(offsets) from None
            if not isinstance(metadata, str):
                raise TypeError("Metadata should be a string")
        found[partition] = OffsetAndMetadata(offset, metadata)
    return found


def refused(outcome: str) -> Exception | None:
    """What ``commit`` raises where the model's commit came out so; None where it is tried again."""
    if outcome == RETRIABLE:
        return None
    return errors.CommitFailedError(_TOO_LATE)  # type: ignore[no-any-return]
