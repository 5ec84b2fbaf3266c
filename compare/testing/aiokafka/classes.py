"""aiokafka's records, errors and listeners where that package is installed, else doubles of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from compare.testing.kafka.python_errors import DOUBLES


class TopicPartitionDouble(NamedTuple):
    """Stands for `aiokafka.TopicPartition`."""

    topic: str
    partition: int


class OffsetAndMetadataDouble(NamedTuple):
    """Stands for `aiokafka.structs.OffsetAndMetadata`."""

    offset: int
    metadata: str


class OffsetAndTimestampDouble(NamedTuple):
    """Stands for `aiokafka.structs.OffsetAndTimestamp`."""

    offset: int
    timestamp: int | None


class RecordMetadataDouble(NamedTuple):
    """Stands for `aiokafka.structs.RecordMetadata`."""

    topic: str
    partition: int
    topic_partition: Any
    offset: int
    timestamp: int | None
    timestamp_type: int
    log_start_offset: int | None


@dataclass
class ConsumerRecordDouble:
    """Stands for `aiokafka.ConsumerRecord`."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: tuple[tuple[str, bytes], ...]


class ConsumerRebalanceListenerDouble(ABC):
    """Stands for `aiokafka.ConsumerRebalanceListener`: both methods may be coroutines."""

    @abstractmethod
    def on_partitions_revoked(self, revoked: Any) -> Any:
        """These are given up."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: Any) -> Any:
        """These are assigned."""


class Assignor(NamedTuple):
    """Stands for an assignor class of a client: its name is all that the model needs."""

    name: str


try:
    import aiokafka as _real
    from aiokafka import errors as _real_errors
    from aiokafka import structs as _real_structs
except ImportError:
    _real = _real_errors = _real_structs = None

_STRUCTS: Final[Mapping[str, type]] = {
    "ConsumerRecord": ConsumerRecordDouble,
    "OffsetAndMetadata": OffsetAndMetadataDouble,
    "OffsetAndTimestamp": OffsetAndTimestampDouble,
    "RecordMetadata": RecordMetadataDouble,
    "TopicPartition": TopicPartitionDouble,
}

installed: Any = _real
"""The package itself; None where it is not installed."""
structs: Any = _real_structs or SimpleNamespace(**_STRUCTS)
"""What `aiokafka.structs` has of it."""
errors: Any = _real_errors or SimpleNamespace(**DOUBLES)
"""What `aiokafka.errors` has of it."""
ConsumerRebalanceListener: Any = getattr(_real, "ConsumerRebalanceListener", ConsumerRebalanceListenerDouble)
ConsumerRecord: Any = structs.ConsumerRecord
OffsetAndMetadata: Any = structs.OffsetAndMetadata
OffsetAndTimestamp: Any = structs.OffsetAndTimestamp
RecordMetadata: Any = structs.RecordMetadata
TopicPartition: Any = structs.TopicPartition
