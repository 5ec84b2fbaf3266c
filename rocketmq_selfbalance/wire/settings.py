"""Settings of a served cluster: limits of memory and the sides of real brokers that the simulation has no use for, with
the real defaults where there are any (``BrokerConfig``, ``MessageStoreConfig``)."""

from collections.abc import Mapping
from dataclasses import dataclass

REAL_NAMES: Mapping[str, str] = {
    "autoCreateTopicEnable": "auto_create_topic",
    "defaultTopicQueueNums": "default_topic_queues",
    "maxMessageSize": "most_message_bytes",
    "maxTransferCountOnMessageInMemory": "most_pulled_records",
    "maxTransferBytesOnMessageInMemory": "most_pulled_bytes",
    "brokerClusterName": "cluster",
}
"""The system's own configuration name to the field."""


@dataclass(frozen=True, slots=True)
class WireSettings:
    """Of every broker. Sizes are bytes."""

    cluster: str = "DefaultCluster"
    auto_create_topic: bool = True
    """Producers bring topics into being, after the model of ``TBW102``."""
    default_topic_queues: int = 8
    most_message_bytes: int = 4 * 1024 * 1024
    most_pulled_records: int = 32
    most_pulled_bytes: int = 256 * 1024
    most_stored_bytes: int = 256 * 1024 * 1024
    """Of one broker's records, with what keeping them costs; the oldest ones go first."""
    most_topics: int = 20_000
    """That clients may bring into being at a broker, retry topics included."""
    most_groups: int = 10_000
    """That clients may bring into being at a broker."""
    most_unanswered: int = 20_000
    """Requests of one connection that wait for their answers."""
    most_frame_bytes: int = 16 * 1024 * 1024
    """``com.rocketmq.remoting.frameMaxLength``."""
