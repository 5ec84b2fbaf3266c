"""Read the consumer groups of a running Kafka cluster through its admin protocol; needs the extra ``kafka``.

What the cluster answers becomes the same facts that the tools' text becomes, and `compare.reading.kafka.join` makes
groups of both: which queues a group reads, or who owns what, is decided in one place.
"""

from compare.reading.kafka_live.observe import SCHEME, observe, shown

__all__ = ["SCHEME", "observe", "shown"]
