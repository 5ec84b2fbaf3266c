"""The classes of the 5.x client for one group of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from compare.testing.rocketmq.naming import Naming, RocketMQGroup, replaced
from compare.testing.rocketmq.v5 import producer, push_consumer, simple_consumer
from compare.testing.rocketmq.v5.types import CLASSES, EXCEPTIONS

_VALUES = (
    "ClientConfiguration",
    "ConsumeResult",
    "Credentials",
    "FilterExpression",
    "FilterType",
    "Message",
    "MessageListener",
    "SendReceipt",
    "TransactionChecker",
    "TransactionResolution",
)
_NAMES = (
    "Producer",
    "PushConsumer",
    "SimpleConsumer",
    "Transaction",
    *(value for value in _VALUES if value != "FilterType"),
)


class Clients:
    """``rocketmq`` as user's code imports it: `Producer`, `PushConsumer` and `SimpleConsumer` are doubles whose members
    live in the group, everything else is the released package's own where that is installed.

    Consumers are the members of ``members``, in the order in which they are made, then ``c1``, ``c2``, ...
    """

    def __init__(self, group: RocketMQGroup, members: tuple[str, ...] = ()) -> None:
        self.group, self.naming = group, Naming(group, members)
        own = {"clients": self, "__module__": "rocketmq", "__doc__": None}
        self.Producer = type("Producer", (producer.Producer,), own)
        self.PushConsumer = type("PushConsumer", (push_consumer.PushConsumer,), own)
        self.SimpleConsumer = type("SimpleConsumer", (simple_consumer.SimpleConsumer,), own)
        self.Transaction = producer.Transaction
        for name in _VALUES:
            setattr(self, name, CLASSES[name])
        for name, exception in EXCEPTIONS.items():
            setattr(self, name, exception)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"module 'rocketmq' has no attribute {name!r}, or none that is modelled")

    @contextmanager
    def installed(self) -> Iterator["Clients"]:
        """``with group.rocketmq_v5().installed():`` what the program imports from ``rocketmq`` is of this group, also
        where the package is not installed. Afterwards all is as before."""
        with replaced(
            {"rocketmq": {name: getattr(self, name) for name in _NAMES}, "rocketmq.v5.exception": EXCEPTIONS}
        ):
            yield self
