"""`Group.confluent`: everything that a program imports from ``confluent_kafka``, in one group in virtual time.

``Consumer``, ``Producer``, ``AdminClient`` are doubles; ``DeserializingConsumer``, ``SerializingProducer`` and
``AdminClient`` run confluent-kafka's own Python code on them, where that package is installed. Exceptions, messages,
partitions and constants are its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, count
from types import SimpleNamespace
from typing import Any

from compare.testing.confluent import errors as errors
from compare.testing.confluent import messages, partitioners
from compare.testing.confluent.consumer import KafkaConsumer
from compare.testing.confluent.installing import real_package, replaced
from compare.testing.confluent.process import Process
from compare.testing.confluent.producer import KafkaProducer
from compare.testing.confluent.rebinding import rebound
from compare.testing.handling import HandlingGroup
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
        try:
            return getattr(real_package(), name)
        except UserError as error:
            raise AttributeError(f"{name}: {error}") from None

    @cached_property
    def DeserializingConsumer(self) -> type:  # noqa: N802 - the name that it stands for
        """confluent-kafka's own, on the double."""
        return rebound(real_package().DeserializingConsumer, self.Consumer)

    @cached_property
    def SerializingProducer(self) -> type:  # noqa: N802 - the name that it stands for
        """confluent-kafka's own, on the double."""
        return rebound(real_package().SerializingProducer, self.Producer)

    @cached_property
    def AdminClient(self) -> type:  # noqa: N802 - the name that it stands for
        """confluent-kafka's own, on the double."""
        from compare.testing.confluent.admin import admin_client

        return admin_client(self.group, self.process)

    @cached_property
    def admin(self) -> SimpleNamespace:
        """What stands for the module ``confluent_kafka.admin``."""
        real = real_package("admin")
        return SimpleNamespace(**{**vars(real), "AdminClient": self.AdminClient})

    @contextmanager
    def installed(self) -> Iterator["Confluent"]:
        """``with group.confluent().installed():`` everything that the program makes from ``confluent_kafka`` is of
        this group: in that package and in every module that has imported its classes by name. Afterwards all is as
        before. Raises `UserError` where confluent-kafka is not installed."""
        with replaced(
            {
                name: getattr(self, name)
                for name in ("Consumer", "Producer", "DeserializingConsumer", "SerializingProducer", "AdminClient")
            }
        ):
            yield self


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
