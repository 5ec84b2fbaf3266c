"""What a KafkaConsumer subscribes to, or was assigned by the user's code; the three ways exclude each other."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from compare.testing.kafka.node import Partition
from compare.testing.kafka.reader import Reader
from compare.testing.kafka_python.classes import ConsumerRebalanceListener, errors
from kafka_coordinator.consumer.commands import ListenerReturned

_NOTHING, _TOPICS, _PATTERN, _PARTITIONS = "", "topics", "pattern", "partitions"
_EXCLUSIVE = (
    "You must choose only one way to configure your consumer: (1) subscribe to specific topics by name, (2) subscribe"
    " to topics matching a regex pattern, (3) assign itself specific topic-partitions."
)
_LEGAL = re.compile(r"^[a-zA-Z0-9._-]+$")
_LONGEST: Final = 249


def check_topic(topic: object) -> None:
    """Raises `TypeError` and `ValueError` for what is no topic's name."""
    if topic is None:
        raise TypeError("All topics must not be None")
    if not isinstance(topic, str):
        raise TypeError("All topics must be strings")
    if not topic:
        raise ValueError("All topics must be non-empty strings")
    if topic in (".", ".."):
        raise ValueError('Topic name cannot be "." or ".."')
    if len(topic) > _LONGEST:
        said = f"Topic name is illegal, it can't be longer than {_LONGEST} characters"
        raise ValueError(f'{said}, topic: "{topic}"')
    if not _LEGAL.match(topic):
        raise ValueError(
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII alphanumerics, ".", "_" and "-"'
        )


class Subscription:
    """Of one consumer. ``with_group``: whether it has a ``group_id``; without, it reads all that its topics have."""

    def __init__(
        self, reader: Reader, with_group: bool, settings: Mapping[str, object], fields: Mapping[str, object]
    ) -> None:
        self._reader, self._with_group, self._settings, self._fields = reader, with_group, settings, fields
        self._kind = _NOTHING
        self.topics: set[str] | None = None
        self._pattern = ""
        self.listener: Any = None
        self.is_new = False
        """Whether the member has not joined with it yet."""

    def subscribe(self, topics: Any, pattern: str | None, listener: Any) -> None:
        """subscribe(); raises what kafka-python raises."""
        if not topics and not pattern:
            raise ValueError("Must provide topics or pattern")
        if topics and pattern:
            raise errors.IllegalStateError(_EXCLUSIVE)
        if pattern:
            self._set(_PATTERN)
            re.compile(pattern)
            self._pattern, self.topics = pattern, set()
        else:
            if isinstance(topics, str) or not isinstance(topics, Sequence):
                raise TypeError("Topics must be a list (or non-str sequence)")
            self._set(_TOPICS)
            for each in topics:
                check_topic(each)
            self.topics = set(topics)
        if listener and not isinstance(listener, ConsumerRebalanceListener):
            raise TypeError("listener must be a ConsumerRebalanceListener or AsyncConsumerRebalanceListener")
        self.listener = listener
        self.is_new = True

    def assign(self, partitions: Sequence[Any]) -> None:
        """assign()."""
        self._set(_PARTITIONS)
        self.topics = None
        self._read(tuple(tuple(each) for each in partitions))

    def nothing(self) -> None:
        """unsubscribe()."""
        reader = self._reader
        if reader.node is not None:
            if self._kind == _PARTITIONS:
                reader.assign((), from_committed=False)
            elif self._kind and not self.is_new:
                reader.subscribe([])
                while reader.state.user.listener_call is not None:
                    reader.tell(ListenerReturned())
        reader.take_over(())
        self._kind, self.topics, self.listener, self.is_new = _NOTHING, None, None, False

    def _set(self, kind: str) -> None:
        if self._kind not in (_NOTHING, kind):
            raise errors.IllegalStateError(_EXCLUSIVE)
        self._kind = kind

    @property
    def by_group(self) -> bool:
        """Whether the group assigns the partitions."""
        return self._with_group and self._kind in (_TOPICS, _PATTERN)

    def join(self) -> None:
        """What poll() does with a new subscription."""
        self.is_new = False
        if self._kind == _PATTERN:
            self.topics = set(self.matching())
        if not self._with_group:
            queues = self._reader.queues(self.matching())
            self._read(tuple((each.topic, each.number) for each in queues))
        elif self._reader.node is None:
            topics = self._reader.known(sorted(self.topics or ()))
            how: dict[str, object] = {"subscribe": topics}
            if self._kind == _PATTERN:
                how = {"pattern": f"(?:{self._pattern}).*"}
            self._reader.begin(how, self._settings, **self._fields)
        else:
            self._reader.subscribe(self._reader.known(sorted(self.topics or ())))

    def _read(self, partitions: tuple[Partition, ...]) -> None:
        self.begin()
        self._reader.assign(partitions, from_committed=self._with_group)

    def begin(self) -> None:
        """The process starts without a subscription."""
        if self._reader.node is None:
            self._reader.begin({"subscribe": []}, self._settings, **self._fields)

    def matching(self) -> list[str]:
        """The topics that are there of those subscribed to."""
        topics = self._reader.all_topics()
        if self._kind == _PATTERN:
            return [each for each in topics if re.match(self._pattern, each)]
        return [each for each in topics if each in (self.topics or ())]
