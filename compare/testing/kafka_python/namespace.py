"""What ``group.kafka_python()`` hands out: the names of kafka-python that consumers and producers use, bound to a
group."""

from types import SimpleNamespace
from typing import Any, ClassVar

from compare.testing.handling import HandlingGroup
from compare.testing.kafka.naming import Names
from compare.testing.kafka_python import classes as classes
from compare.testing.kafka_python.consumer import KafkaConsumer


def namespace(group: HandlingGroup, members: tuple[str, ...]) -> SimpleNamespace:
    """The classes; consumers are the members of these names, in the order in which they are made, then ``c1``, ..."""
    names = Names(group, members)

    class Consumer(KafkaConsumer):
        __doc__ = KafkaConsumer.__doc__
        group: ClassVar[Any]

        @classmethod
        def next_name(cls, client_id: str | None) -> str:
            return names.next(client_id)

    Consumer.group = group
    Consumer.__name__ = Consumer.__qualname__ = "KafkaConsumer"
    return SimpleNamespace(
        KafkaConsumer=Consumer,
        ConsumerRebalanceListener=classes.ConsumerRebalanceListener,
        OffsetAndMetadata=classes.OffsetAndMetadata,
        OffsetAndTimestamp=classes.OffsetAndTimestamp,
        TopicPartition=classes.TopicPartition,
        errors=classes.errors,
        structs=classes.structs,
    )
