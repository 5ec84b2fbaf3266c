"""Settings of a served broker that are not its group coordinator's, with the defaults of Kafka 4.1.0.

In Kafka `KafkaConfig`, `SocketServerConfigs`, `ServerLogConfigs`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; times are milliseconds, sizes bytes.

    Fields that Kafka sets elsewhere: ``cluster_id``.
    """

    cluster_id: str = "ZXF1aXBvaXNlLXNlcnZl"
    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    """Partitions of a topic that is created because a client asked for it."""
    default_replication_factor: int = 1
    socket_request_max_bytes: int = 100 * 1024 * 1024
    """A longer request closes its connection."""
