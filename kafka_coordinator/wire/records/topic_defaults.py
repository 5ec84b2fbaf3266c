"""A topic's settings and their defaults in Kafka 4.1.0, in the order in which it describes them.

In Kafka `LogConfig` and `TopicConfig`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class ConfigDefault(NamedTuple):
    """A setting's name, default, type (a word of `TYPES`), and the broker's setting that has the default; empty where
    Kafka names none."""

    name: str
    default: str
    type: str
    broker_name: str = ""


TYPES: Final = ("", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
"""In the order of their numbers on the wire."""

TOPIC_CONFIGS: Final = (
    ConfigDefault("compression.type", "producer", "string", "compression.type"),
    ConfigDefault("remote.log.delete.on.disable", "false", "boolean"),
    ConfigDefault("leader.replication.throttled.replicas", "", "list"),
    ConfigDefault("remote.storage.enable", "false", "boolean"),
    ConfigDefault("min.insync.replicas", "1", "int", "min.insync.replicas"),
    ConfigDefault("segment.jitter.ms", "0", "long"),
    ConfigDefault("remote.log.copy.disable", "false", "boolean"),
    ConfigDefault("local.retention.ms", "-2", "long", "log.local.retention.ms"),
    ConfigDefault("cleanup.policy", "delete", "list", "log.cleanup.policy"),
    ConfigDefault("flush.ms", "9223372036854775807", "long"),
    ConfigDefault("follower.replication.throttled.replicas", "", "list"),
    ConfigDefault("compression.lz4.level", "9", "int", "compression.lz4.level"),
    ConfigDefault("segment.bytes", "1073741824", "int", "log.segment.bytes"),
    ConfigDefault("retention.ms", "604800000", "long"),
    ConfigDefault("compression.gzip.level", "-1", "int", "compression.gzip.level"),
    ConfigDefault("flush.messages", "9223372036854775807", "long", "log.flush.interval.messages"),
    ConfigDefault("compression.zstd.level", "3", "int", "compression.zstd.level"),
    ConfigDefault("max.compaction.lag.ms", "9223372036854775807", "long", "log.cleaner.max.compaction.lag.ms"),
    ConfigDefault("file.delete.delay.ms", "60000", "long", "log.segment.delete.delay.ms"),
    ConfigDefault("max.message.bytes", "1048588", "int", "message.max.bytes"),
    ConfigDefault("min.compaction.lag.ms", "0", "long", "log.cleaner.min.compaction.lag.ms"),
    ConfigDefault("message.timestamp.type", "CreateTime", "string", "log.message.timestamp.type"),
    ConfigDefault("local.retention.bytes", "-2", "long", "log.local.retention.bytes"),
    ConfigDefault("preallocate", "false", "boolean", "log.preallocate"),
    ConfigDefault("min.cleanable.dirty.ratio", "0.5", "double", "log.cleaner.min.cleanable.ratio"),
    ConfigDefault("index.interval.bytes", "4096", "int", "log.index.interval.bytes"),
    ConfigDefault("unclean.leader.election.enable", "false", "boolean", "unclean.leader.election.enable"),
    ConfigDefault("retention.bytes", "-1", "long", "log.retention.bytes"),
    ConfigDefault("delete.retention.ms", "86400000", "long", "log.cleaner.delete.retention.ms"),
    ConfigDefault("message.timestamp.after.max.ms", "3600000", "long", "log.message.timestamp.after.max.ms"),
    ConfigDefault(
        "message.timestamp.before.max.ms", "9223372036854775807", "long", "log.message.timestamp.before.max.ms"
    ),
    ConfigDefault("segment.ms", "604800000", "long"),
    ConfigDefault("segment.index.bytes", "10485760", "int", "log.index.size.max.bytes"),
)

TOPIC_DEFAULTS: Final[Mapping[str, str]] = {each.name: each.default for each in TOPIC_CONFIGS}
