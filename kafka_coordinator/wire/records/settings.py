"""What bounds the records of a cluster, and the settings of a topic that say how its records are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from kafka_coordinator.wire.records.topic_defaults import TOPIC_DEFAULTS

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of what clients write is kept in memory. What is too much goes oldest first, and the log start offsets
    rise: a consumer that wanted it is told OFFSET_OUT_OF_RANGE. A batch counts with its bytes and `BATCH_COST`."""

    partition_bytes: int = 128 * MEBIBYTE
    """Of one partition."""
    total_bytes: int = 1024 * MEBIBYTE
    """Of the whole cluster; the partition that holds most gives first."""
    producers: int = 1000
    """Idempotent producers remembered per partition; those go that wrote longest ago. One that comes again may write
    with any sequence number, as after Kafka's ``producer.id.expiration.ms``."""
    fetch_max_bytes: int = 57_671_680
    """Of one answer (``fetch.max.bytes`` of the broker); a first batch that is longer comes whole."""
    fetch_sessions: int = 1000
    """Per broker (``max.incremental.fetch.session.cache.slots``). Where all are taken, a client is served without."""
    session_eviction_ms: int = 120_000
    """A session that was not used for so long gives way to a new one
    (``min.incremental.fetch.session.eviction.ms``)."""


BATCH_COST = 256
"""Bytes that keeping a batch takes besides its own."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """Those settings of a topic that change what is done with records; a field's name is Kafka's with ``_`` for ``.``
    and ``-1`` stands for no bound."""

    max_message_bytes: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    cleanup_policy: str
    retention_bytes: int

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """From Kafka's names and texts, which are known to be right; what is not given is the default."""
        values = {**TOPIC_DEFAULTS, **given}
        return cls(
            int(values["max.message.bytes"]),
            values["message.timestamp.type"],
            int(values["message.timestamp.before.max.ms"]),
            int(values["message.timestamp.after.max.ms"]),
            values["cleanup.policy"],
            int(values["retention.bytes"]),
        )
