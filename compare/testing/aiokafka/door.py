"""`Group.aiokafka`: what a program imports from ``aiokafka`` for consumers and producers, in one group."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from compare.testing.aiokafka import classes as classes
from compare.testing.aiokafka.consumer import AIOKafkaConsumer
from compare.testing.aiokafka.producer import AIOKafkaProducer
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.installing import replaced
from compare.testing.kafka.naming import Names, of_group
from protocols.errors import UserError

_ASSIGNORS = {
    "RangePartitionAssignor": "range",
    "RoundRobinPartitionAssignor": "roundrobin",
    "StickyPartitionAssignor": "sticky",
}


class AioKafka(SimpleNamespace):
    """The names. Consumers are the members ``members``, in the order in which they are made, then those of their
    ``client_id``, or c1, c2 and so on."""

    def __init__(self, group: HandlingGroup, members: tuple[str, ...] = ()) -> None:
        super().__init__(
            AIOKafkaConsumer=of_group(AIOKafkaConsumer, group, Names(group, members)),
            AIOKafkaProducer=of_group(AIOKafkaProducer, group),
            ConsumerRebalanceListener=classes.ConsumerRebalanceListener,
            ConsumerRecord=classes.ConsumerRecord,
            ConsumerStoppedError=classes.errors.ConsumerStoppedError,
            IllegalOperation=classes.errors.IllegalOperation,
            OffsetAndMetadata=classes.OffsetAndMetadata,
            OffsetAndTimestamp=classes.OffsetAndTimestamp,
            TopicPartition=classes.TopicPartition,
            errors=classes.errors,
            structs=classes.structs,
            **{name: classes.Assignor(short) for name, short in _ASSIGNORS.items()},
        )

    @contextmanager
    def installed(self) -> Iterator["AioKafka"]:
        """``with group.aiokafka().installed():`` every consumer and producer that the program makes is of this group,
        in ``aiokafka`` and in every module that has imported its classes by name. Raises `UserError` where aiokafka is
        not installed."""
        if classes.installed is None:
            raise UserError("aiokafka is not installed: python -m pip install aiokafka")
        real = classes.installed
        with replaced({real.AIOKafkaConsumer: self.AIOKafkaConsumer, real.AIOKafkaProducer: self.AIOKafkaProducer}):
            yield self
