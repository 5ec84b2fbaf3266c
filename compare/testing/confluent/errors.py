"""confluent-kafka's exception and partition classes where that package is installed, else their doubles.

User's code that catches `confluent_kafka.KafkaException` catches what the doubles raise.
"""

from collections.abc import Mapping, Sequence
from functools import total_ordering
from typing import Final, Protocol, TypeAlias

from compare.testing.faults import whole
from kafka_coordinator.cluster import FAILED, REBALANCING, RETRIABLE

_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "OFFSET_OUT_OF_RANGE": (1, ""),
    "MSG_SIZE_TOO_LARGE": (10, "Broker: Message size too large"),
    "UNKNOWN_TOPIC_OR_PART": (3, "Broker: Unknown topic or partition"),
    "COORDINATOR_LOAD_IN_PROGRESS": (14, "Broker: Coordinator load in progress"),
    "COORDINATOR_NOT_AVAILABLE": (15, "Broker: Coordinator not available"),
    "NOT_COORDINATOR": (16, "Broker: Not coordinator"),
    "ILLEGAL_GENERATION": (22, "Broker: Specified group generation id is not valid"),
    "UNKNOWN_MEMBER_ID": (25, "Broker: Unknown member"),
    "REBALANCE_IN_PROGRESS": (27, "Broker: Group rebalance in progress"),
    "GROUP_MAX_SIZE_REACHED": (81, "Broker: Consumer group has reached maximum size"),
    "FENCED_INSTANCE_ID": (82, "Broker: Static consumer fenced by other consumer with same group.instance.id"),
    "REQUEST_TIMED_OUT": (7, "Broker: Request timed out"),
    "_FENCED": (-144, "Local: This instance has been fenced by a newer instance"),
    "_NOT_CONFIGURED": (-145, ""),
    "_MAX_POLL_EXCEEDED": (-147, ""),
    "_INCONSISTENT": (-149, ""),
    "_FATAL": (-150, "Local: Fatal error"),
    "_PURGE_INFLIGHT": (-151, "Local: Purged in flight"),
    "_PURGE_QUEUE": (-152, "Local: Purged in queue"),
    "_MSG_TIMED_OUT": (-192, "Local: Message timed out"),
    "_BAD_MSG": (-199, ""),
    "_ASSIGNMENT_LOST": (-142, ""),
    "_NO_OFFSET": (-168, "Local: No offset stored"),
    "_AUTO_OFFSET_RESET": (-140, ""),
    "_CONFLICT": (-173, ""),
    "_STATE": (-172, "Local: Erroneous state"),
    "_REVOKE_PARTITIONS": (-174, ""),
    "_ASSIGN_PARTITIONS": (-175, ""),
    "_TIMED_OUT": (-185, "Local: Timed out"),
    "_ALL_BROKERS_DOWN": (-187, ""),
    "_UNKNOWN_TOPIC": (-188, ""),
    "_INVALID_ARG": (-186, "Local: Invalid argument or configuration"),
    "_UNKNOWN_PARTITION": (-190, "Local: Unknown partition"),
    "_PARTITION_EOF": (-191, ""),
    "_TRANSPORT": (-195, "Local: Broker transport failure"),
}
"""Name of an error to librdkafka's number of it, and to what librdkafka says of it; empty: its name."""

CODES: Final[Mapping[str, int]] = {name: code for name, (code, _) in _ERRORS.items()}
"""Name of an error to librdkafka's number of it."""

OFFSET_BEGINNING: Final = -2
OFFSET_END: Final = -1
OFFSET_STORED: Final = -1000
OFFSET_INVALID: Final = -1001


class KafkaErrorDouble:
    """What `confluent_kafka.KafkaError` answers, and no more."""

    def __init__(
        self,
        code: int,
        reason: str = "",
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        self._code, self._fatal = code, fatal
        self._retriable, self._aborts = retriable, txn_requires_abort
        self._reason = reason or said(self.name())

    def __repr__(self) -> str:
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self._reason}"}}'

    def __eq__(self, other: object) -> bool:
        return self._code == (other._code if isinstance(other, KafkaErrorDouble) else other)

    def __hash__(self) -> int:
        return hash(self._code)

    def code(self) -> int:
        """librdkafka's number of the error."""
        return self._code

    def name(self) -> str:
        return next((name for name, code in CODES.items() if code == self._code), "UNKNOWN")

    def str(self) -> str:
        return self._reason

    def fatal(self) -> bool:
        """Whether the consumer is of no use any more."""
        return self._fatal

    def retriable(self) -> bool:
        """Whether the same call may succeed later; never told for a consumer."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Whether a transaction must be aborted; never told for a consumer."""
        return self._aborts


def said(name: str) -> str:
    """What librdkafka says of an error."""
    return _ERRORS.get(name, (0, ""))[1] or name


for _name, _code in CODES.items():
    setattr(KafkaErrorDouble, _name, _code)


class KafkaExceptionDouble(Exception):  # noqa: N818 - the name that it stands for
    """Stands for `confluent_kafka.KafkaException`: ``args[0]`` is the error."""


@total_ordering
class TopicPartitionDouble:
    """What `confluent_kafka.TopicPartition` holds."""

    def __init__(
        self,
        topic: str,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"argument 1 must be str, not {type(topic).__name__}")
        self.topic, self.partition, self.offset = topic, whole(partition), whole(offset)
        self.metadata, self.leader_epoch = metadata, leader_epoch
        self.error: KafkaErrorDouble | None = None

    def __repr__(self) -> str:
        where = f"topic={self.topic},partition={self.partition},offset={self.offset}"
        return f"TopicPartition{{{where},leader_epoch={self.leader_epoch},error={self.error}}}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicPartitionDouble):
            raise NotImplementedError
        return (self.topic, self.partition) == (other.topic, other.partition)

    def __lt__(self, other: "TopicPartitionDouble") -> bool:
        return (self.topic, self.partition) < (other.topic, other.partition)

    def __hash__(self) -> int:
        return hash((self.topic, self.partition))


class Partitioned(Protocol):
    """A `TopicPartition` of either kind."""

    topic: str
    partition: int
    offset: int
    metadata: str | None


def where_of(given: Partitioned) -> tuple[str, int]:
    """Topic and number."""
    return given.topic, given.partition


Partitions: TypeAlias = Sequence[Partitioned]
"""As the user's code gives them."""

Listed: TypeAlias = list[TopicPartitionDouble]
"""As the user's code gets them."""


try:
    import confluent_kafka as _real
except ImportError:
    _real = None
KafkaError: type[KafkaErrorDouble] = KafkaErrorDouble if _real is None else _real.KafkaError
KafkaException: type[Exception] = KafkaExceptionDouble if _real is None else _real.KafkaException
TopicPartition: type[TopicPartitionDouble] = TopicPartitionDouble if _real is None else _real.TopicPartition


def error(
    name: str, reason: str, *, fatal: bool = False, retriable: bool = False, aborts: bool = False
) -> KafkaErrorDouble:
    """An error as confluent-kafka has it; ``aborts``: a transaction must be aborted."""
    code = CODES.get(name, CODES["_STATE"])
    return KafkaError(code, reason, fatal=fatal, retriable=retriable, txn_requires_abort=aborts)


def exception(name: str, reason: str, *, fatal: bool = False) -> Exception:
    """An exception as confluent-kafka raises it."""
    return KafkaException(error(name, reason, fatal=fatal))


def of_commit(outcome: str) -> Exception:
    """What commit() raises where the model's commit came out so."""
    if outcome == REBALANCING:
        name = "REBALANCE_IN_PROGRESS"
    elif outcome == RETRIABLE:
        name = "_TIMED_OUT"
    else:
        name = outcome.removeprefix(FAILED).removeprefix(": ") or "UNKNOWN_MEMBER_ID"
    return exception(name, f"Commit failed: {said(name)}", fatal=name == "FENCED_INSTANCE_ID")
