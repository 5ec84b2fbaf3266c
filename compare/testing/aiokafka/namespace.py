"""What ``group.aiokafka()`` hands out: the names of aiokafka that consumers and producers use, bound to a group."""

from types import SimpleNamespace
from typing import Any, ClassVar

from compare.testing.aiokafka import classes as classes
from compare.testing.aiokafka.consumer import AIOKafkaConsumer
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.naming import Names

_ASSIGNORS = {
    "RangePartitionAssignor": "range",
    "RoundRobinPartitionAssignor": "roundrobin",
    "StickyPartitionAssignor": "sticky",
}


def namespace(group: HandlingGroup, members: tuple[str, ...]) -> SimpleNamespace:
    """The classes; consumers are the members of these names, in the order in which they are made, then ``c1``, ..."""
    names = Names(group, members)

    class Consumer(AIOKafkaConsumer):
        __doc__ = AIOKafkaConsumer.__doc__
        group: ClassVar[Any]

        @classmethod
        def next_name(cls, client_id: str | None) -> str:
            return names.next(client_id)

    Consumer.group = group
    Consumer.__name__ = Consumer.__qualname__ = "AIOKafkaConsumer"
    assignors = {name: classes.Assignor(short) for name, short in _ASSIGNORS.items()}
    return SimpleNamespace(
        AIOKafkaConsumer=Consumer,
        ConsumerRebalanceListener=classes.ConsumerRebalanceListener,
        ConsumerRecord=classes.ConsumerRecord,
        OffsetAndMetadata=classes.OffsetAndMetadata,
        OffsetAndTimestamp=classes.OffsetAndTimestamp,
        TopicPartition=classes.TopicPartition,
        errors=classes.errors,
        structs=classes.structs,
        **assignors,
    )
