"""`Group.kafka_python`: what a program imports from ``kafka`` for consumers and producers, in one group."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from compare.testing.handling import HandlingGroup
from compare.testing.kafka.installing import replaced
from compare.testing.kafka.naming import Names, of_group
from compare.testing.kafka_python import classes as classes
from compare.testing.kafka_python.consumer import KafkaConsumer
from compare.testing.kafka_python.producer import KafkaProducer
from protocols.errors import UserError


class KafkaPython(SimpleNamespace):
    """The names. Consumers are the members ``members``, in the order in which they are made, then those of their
    ``client_id``, or c1, c2 and so on."""

    def __init__(self, group: HandlingGroup, members: tuple[str, ...] = ()) -> None:
        super().__init__(
            KafkaConsumer=of_group(KafkaConsumer, group, Names(group, members)),
            KafkaProducer=of_group(KafkaProducer, group),
            ConsumerRebalanceListener=classes.ConsumerRebalanceListener,
            OffsetAndMetadata=classes.OffsetAndMetadata,
            OffsetAndTimestamp=classes.OffsetAndTimestamp,
            TopicPartition=classes.TopicPartition,
            errors=classes.errors,
            structs=classes.structs,
        )

    @contextmanager
    def installed(self) -> Iterator["KafkaPython"]:
        """``with group.kafka_python().installed():`` every consumer and producer that the program makes is of this
        group, in ``kafka`` and in every module that has imported its classes by name. Raises `UserError` where
        kafka-python is not installed."""
        if classes.installed is None:
            raise UserError("kafka-python is not installed: python -m pip install kafka-python")
        real = classes.installed
        with replaced({real.KafkaConsumer: self.KafkaConsumer, real.KafkaProducer: self.KafkaProducer}):
            yield self
