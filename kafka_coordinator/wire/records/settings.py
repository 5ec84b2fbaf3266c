"""A topic's settings and their defaults in Kafka 4.1.0 and newer, in the order in which they are checked; what bounds
the records of a cluster, and which settings of a topic say how its records are kept.

In Kafka `LogConfig` and `TopicConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self


class ConfigDefault(NamedTuple):
    """A setting's name, default, type (a word of `TYPES`), the broker's setting that has the default (empty where Kafka
    names none), and the first compared version (`kafka_coordinator.versions.VERSIONS`) that has it."""

    name: str
    default: str
    type: str
    broker_name: str = ""
    since: str = "4.1"


TYPES: Final = ("", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
"""In the order of their numbers on the wire."""

TOPIC_CONFIGS: Final = (
    ConfigDefault("segment.bytes", "1073741824", "int", "log.segment.bytes"),
    ConfigDefault("segment.ms", "604800000", "long"),
    ConfigDefault("segment.jitter.ms", "0", "long"),
    ConfigDefault("segment.index.bytes", "10485760", "int", "log.index.size.max.bytes"),
    ConfigDefault("flush.messages", "9223372036854775807", "long", "log.flush.interval.messages"),
    ConfigDefault("flush.ms", "9223372036854775807", "long"),
    ConfigDefault("retention.bytes", "-1", "long", "log.retention.bytes"),
    ConfigDefault("retention.ms", "604800000", "long"),
    ConfigDefault("max.message.bytes", "1048588", "int", "message.max.bytes"),
    ConfigDefault("max.decompressed.message.bytes", "2147483639", "int", "max.decompressed.message.bytes", "4.4"),
    ConfigDefault("index.interval.bytes", "4096", "int", "log.index.interval.bytes"),
    ConfigDefault("delete.retention.ms", "86400000", "long", "log.cleaner.delete.retention.ms"),
    ConfigDefault("min.compaction.lag.ms", "0", "long", "log.cleaner.min.compaction.lag.ms"),
    ConfigDefault("max.compaction.lag.ms", "9223372036854775807", "long", "log.cleaner.max.compaction.lag.ms"),
    ConfigDefault("file.delete.delay.ms", "60000", "long", "log.segment.delete.delay.ms"),
    ConfigDefault("min.cleanable.dirty.ratio", "0.5", "double", "log.cleaner.min.cleanable.ratio"),
    ConfigDefault("cleanup.policy", "delete", "list", "log.cleanup.policy"),
    ConfigDefault("unclean.leader.election.enable", "false", "boolean", "unclean.leader.election.enable"),
    ConfigDefault("min.insync.replicas", "1", "int", "min.insync.replicas"),
    ConfigDefault("compression.type", "producer", "string", "compression.type"),
    ConfigDefault("compression.gzip.level", "-1", "int", "compression.gzip.level"),
    ConfigDefault("compression.lz4.level", "9", "int", "compression.lz4.level"),
    ConfigDefault("compression.zstd.level", "3", "int", "compression.zstd.level"),
    ConfigDefault("preallocate", "false", "boolean", "log.preallocate"),
    ConfigDefault("message.timestamp.type", "CreateTime", "string", "log.message.timestamp.type"),
    ConfigDefault(
        "message.timestamp.before.max.ms", "9223372036854775807", "long", "log.message.timestamp.before.max.ms"
    ),
    ConfigDefault("message.timestamp.after.max.ms", "3600000", "long", "log.message.timestamp.after.max.ms"),
    ConfigDefault("leader.replication.throttled.replicas", "", "list"),
    ConfigDefault("follower.replication.throttled.replicas", "", "list"),
    ConfigDefault("remote.storage.enable", "false", "boolean"),
    ConfigDefault("local.retention.ms", "-2", "long", "log.local.retention.ms"),
    ConfigDefault("local.retention.bytes", "-2", "long", "log.local.retention.bytes"),
    ConfigDefault("remote.log.copy.disable", "false", "boolean"),
    ConfigDefault("remote.copy.lag.ms", "0", "long", "log.remote.copy.lag.ms", "4.4"),
    ConfigDefault("remote.copy.lag.bytes", "-1", "long", "log.remote.copy.lag.bytes", "4.4"),
    ConfigDefault("remote.log.delete.on.disable", "false", "boolean"),
    ConfigDefault("errors.deadletterqueue.group.enable", "false", "boolean", "", "4.4"),
)

TOPIC_DEFAULTS: Final[Mapping[str, str]] = {config.name: config.default for config in TOPIC_CONFIGS}


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
    transaction_bytes: int = 64 * MEBIBYTE
    """Of transactional ids and of the partitions of their open transactions, each with
    `kafka_coordinator.coordinator.log.ENTRY_COST`; what happens beyond that says
    `kafka_coordinator.transactions.Transactions`."""
    pending_offset_bytes: int = 64 * MEBIBYTE
    """Of offsets that wait at one broker for the end of their transactions, each with the same cost. Beyond that
    TxnOffsetCommit is refused with COORDINATOR_NOT_AVAILABLE, after which clients try again."""
    offset_bytes: int = 64 * MEBIBYTE
    """Of groups and of the offsets that they have committed, at one broker, each with the same cost; what happens
    beyond that says `kafka_coordinator.wire.offset_room`."""


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
