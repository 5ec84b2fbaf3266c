"""`Group.confluent`: everything that a program imports from ``confluent_kafka``, in one group in virtual time.

``Consumer`` and ``Producer`` are doubles; exceptions, messages, partitions and constants are confluent-kafka's own,
where that package is installed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from typing import Any

from compare.testing.confluent import errors as errors
from compare.testing.confluent import messages, partitioners
from compare.testing.confluent.consumer import KafkaConsumer
from compare.testing.confluent.installing import real_package, replaced
from compare.testing.confluent.process import Process
from compare.testing.confluent.producer import KafkaProducer
from compare.testing.handling import HandlingGroup
from compare.testing.removed import REMOVED
from protocols.errors import UserError


class Confluent:
    """The clients of one process. Consumers made by one object are members of the group, each with a name of its own:
    ``client.id``, else c1, c2 and so on. When the last of them is killed, so are its producers.

    Everything else that ``confluent_kafka`` has is there under the same name.
    """

    def __init__(self, group: HandlingGroup) -> None:
        self.group = group
        self.process = Process()
        confluent = self

        class Consumer(KafkaConsumer):
            """Stands for `confluent_kafka.Consumer`."""

            def __init__(self, *args: Any, **more: Any) -> None:
                if len(args) > 1:
                    raise TypeError("expected tuple containing single dict")
                if not args and not more:
                    raise TypeError("expected configuration dict")
                super().__init__(group, confluent.next_name({**_named(args), **more}), *args, **more)
                confluent.process.add(group.handling.made(self))

        class Producer(KafkaProducer):
            """Stands for `confluent_kafka.Producer`."""

            def __init__(self, *args: Any, **more: object) -> None:
                super().__init__(group, confluent.process, *args, **more)

        self.Consumer, self.Producer = Consumer, Producer
        self._names: set[str] = set()

    def __repr__(self) -> str:
        return f"<confluent-kafka of {self.group!r}>"

    def next_name(self, config: dict[str, Any]) -> str:
        """The name of the next member: its ``client.id``, where that is free."""
        wanted = str(config.get("client.id") or "")
        numbered = (f"{wanted}-{number}" if wanted else f"c{number}" for number in count(1))
        known = {*self.group.known, *self._names}
        name = next(each for each in chain([wanted] if wanted else [], numbered) if each not in known)
        self._names.add(name)
        return name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OWN:
            return _OWN[name]
        if name in _REMOVED:
            return _REMOVED[name]
        try:
            return getattr(real_package(), name)
        except UserError as error:
            raise AttributeError(f"{name}: {error}") from None

    @contextmanager
    def installed(self) -> Iterator["Confluent"]:
        """``with group.confluent().installed():`` everything that the program makes from ``confluent_kafka`` is of
        this group: in that package and in every module that has imported its classes by name. Afterwards all is as
        before. Raises `UserError` where confluent-kafka is not installed."""
        with replaced({"Consumer": self.Consumer, "Producer": self.Producer, **_REMOVED}):
            yield self


def _removed(name: str) -> type:
    """Stands for a class that has no double any more: nobody can make one."""

    def refuse(self: object, *args: object, **more: object) -> None:
        raise UserError(REMOVED[name])

    return type(name, (), {"__init__": refuse})


_REMOVED = {name: _removed(name) for name in ("AdminClient", "DeserializingConsumer", "SerializingProducer")}


def _named(args: tuple[Any, ...]) -> dict[str, Any]:
    return dict(args[0]) if args and isinstance(args[0], dict) else {}


_OWN = {
    "KafkaError": errors.KafkaError,
    "KafkaException": errors.KafkaException,
    "TopicPartition": errors.TopicPartition,
    "Message": messages.MESSAGES[-1],
    "OFFSET_BEGINNING": errors.OFFSET_BEGINNING,
    "OFFSET_END": errors.OFFSET_END,
    "OFFSET_STORED": errors.OFFSET_STORED,
    "OFFSET_INVALID": errors.OFFSET_INVALID,
    "TIMESTAMP_NOT_AVAILABLE": messages.TIMESTAMP_NOT_AVAILABLE,
    "TIMESTAMP_CREATE_TIME": messages.TIMESTAMP_CREATE_TIME,
    "murmur2": partitioners.murmur2,
    "consistent": partitioners.consistent,
    "fnv1a": partitioners.fnv1a,
}
"""What is there without confluent-kafka, too."""
