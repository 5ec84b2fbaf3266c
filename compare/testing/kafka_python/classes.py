"""kafka-python's records, errors and listeners where that package is installed, else doubles of them."""

from abc import ABC, abstractmethod
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

from compare.testing.kafka.python_errors import DOUBLES

_SIZES = "serialized_key_size serialized_value_size serialized_header_size"


def _named(name: str, fields: str, *defaults: object) -> Any:
    return namedtuple(name, fields.split(), defaults=defaults)


_STRUCTS = SimpleNamespace(
    TopicPartition=_named("TopicPartition", "topic partition"),
    OffsetAndMetadata=_named("OffsetAndMetadata", "offset metadata leader_epoch", None, "", -1),
    OffsetAndTimestamp=_named("OffsetAndTimestamp", "offset timestamp leader_epoch"),
    ConsumerGroupMetadata=_named(
        "ConsumerGroupMetadata",
        "group_id generation_id member_id group_instance_id state",
        *(None, -1, "", None, "<unjoined>"),
    ),
)
_RECORD: Any = _named(
    "ConsumerRecord",
    f"topic partition leader_epoch offset timestamp timestamp_type key value headers checksum {_SIZES}",
)
_METADATA: Any = _named("RecordMetadata", f"topic partition topic_partition offset timestamp checksum {_SIZES}")


class ConsumerRebalanceListenerDouble(ABC):
    """Stands for `kafka.ConsumerRebalanceListener`."""

    @abstractmethod
    def on_partitions_revoked(self, revoked: Any) -> Any:
        """These are given up."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: Any) -> Any:
        """These are assigned."""

    def on_partitions_lost(self, lost: Any) -> Any:
        """These went to others meanwhile."""
        return self.on_partitions_revoked(lost)


try:
    import kafka as _real
    from kafka import errors as _real_errors
    from kafka import structs as _real_structs
    from kafka.consumer import fetcher as _fetcher
    from kafka.producer import future as _future
except ImportError:
    _real = _real_errors = _real_structs = _fetcher = _future = None

installed: Any = _real
"""The package itself; None where it is not installed."""
structs: Any = _real_structs or _STRUCTS
"""What `kafka.structs` has of it."""
errors: Any = _real_errors or SimpleNamespace(**DOUBLES)
"""What `kafka.errors` has of it."""
ConsumerRebalanceListener: Any = getattr(_real, "ConsumerRebalanceListener", ConsumerRebalanceListenerDouble)
ConsumerRecord: Any = getattr(_fetcher, "ConsumerRecord", _RECORD)
RecordMetadata: Any = getattr(_future, "RecordMetadata", _METADATA)
ConsumerGroupMetadata: Any = getattr(structs, "ConsumerGroupMetadata", _STRUCTS.ConsumerGroupMetadata)
OffsetAndMetadata: Any = structs.OffsetAndMetadata
OffsetAndTimestamp: Any = structs.OffsetAndTimestamp
TopicPartition: Any = structs.TopicPartition
