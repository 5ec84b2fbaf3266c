"""Doubles of the exceptions of Python's clients, for where neither is installed."""

from collections.abc import Mapping
from typing import Final


class KafkaError(RuntimeError):
    """The base of all that the clients raise about Kafka."""

    retriable = False

    def __str__(self) -> str:
        return f"{type(self).__name__}: {super().__str__()}" if self.args else type(self).__name__


class BrokerResponseError(KafkaError):
    """An error that a broker has answered; ``errno``: its number in Kafka's protocol."""

    errno = -1

    def __str__(self) -> str:
        return f"[Error {self.errno}] {super().__str__()}"


_OF_CLIENTS: Final = (
    "CommitFailedError",
    "IllegalArgumentError",
    "IllegalStateError",
    "KafkaConfigurationError",
    "KafkaTimeoutError",
    "NoOffsetForPartitionError",
    "ProducerClosed",
    "RecordTooLargeError",
)
_OF_BROKERS: Final[Mapping[str, int]] = {
    "OffsetOutOfRangeError": 1,
    "UnknownTopicOrPartitionError": 3,
    "MessageSizeTooLargeError": 10,
    "GroupCoordinatorNotAvailableError": 15,
    "NotCoordinatorForGroupError": 16,
    "InvalidTopicError": 17,
    "IllegalGenerationError": 22,
    "UnknownMemberIdError": 25,
    "RebalanceInProgressError": 27,
    "FencedInstanceIdError": 82,
}


def _made() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {"KafkaError": KafkaError, "BrokerResponseError": BrokerResponseError}
    for name in _OF_CLIENTS:
        found[name] = type(name, (KafkaError,), {"__doc__": f"Stands for the clients' {name}."})
    for name, number in _OF_BROKERS.items():
        fields = {"errno": number, "__doc__": f"Stands for the clients' {name}."}
        found[name] = type(name, (BrokerResponseError,), fields)
    for name in ("ConsumerStoppedError", "IllegalOperation"):
        found[name] = type(name, (Exception,), {"__doc__": f"Stands for aiokafka's {name}."})
    return found


DOUBLES: Final[Mapping[str, type[Exception]]] = _made()
"""Name of an exception to its double."""
