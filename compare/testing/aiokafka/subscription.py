"""What a consumer subscribes to, or was assigned by the user's code; the three ways exclude each other."""

import re
from collections.abc import Mapping
from typing import Any

from compare.testing.aiokafka.classes import TopicPartition, errors
from compare.testing.aiokafka.membership import Membership, as_set
from compare.testing.kafka.node import Partition
from compare.testing.kafka.reader import Reader
from kafka_coordinator.consumer.commands import BeginPoll

_NOTHING, _TOPICS, _PATTERN, _PARTITIONS = "", "topics", "pattern", "partitions"


class Subscription:
    """Of one consumer. ``with_group``: whether it has a ``group_id``; without, it reads all that its topics have."""

    def __init__(
        self, reader: Reader, membership: Membership, with_group: bool, settings: Mapping[str, object]
    ) -> None:
        self._reader, self._membership, self._with_group, self._settings = reader, membership, with_group, settings
        self._kind = _NOTHING
        self._topics: frozenset[str] = frozenset()
        self._pattern = ""
        self._partitions: tuple[Partition, ...] = ()
        self._listener: Any = None
        self._started = False
        self._asked: set[str] = set()

    def start(self) -> None:
        """The consumer is connected: what was said before counts now."""
        self._started = True
        self._apply()

    def to_topics(self, topics: Any, listener: Any) -> None:
        """subscribe(); raises `TypeError` for what is no list."""
        if not isinstance(topics, tuple | set | list):
            raise TypeError("Topics should be list of strings")
        self._set(_TOPICS)
        self._topics, self._listener = frozenset(topics), listener
        self._apply()

    def to_pattern(self, pattern: str, listener: Any) -> None:
        """subscribe() by a pattern."""
        self._set(_PATTERN)
        self._pattern, self._listener = pattern, listener
        self._apply()

    def to_partitions(self, partitions: Any) -> None:
        """assign()."""
        self._set(_PARTITIONS)
        if not isinstance(partitions, list | set | tuple):
            raise AssertionError
        self._topics = frozenset(each.topic for each in partitions)
        self._partitions = tuple(tuple(each) for each in partitions)
        self._apply()

    def nothing(self) -> None:
        """unsubscribe()."""
        if self._kind == _PARTITIONS and self._reader.node is not None:
            self._reader.assign((), from_committed=False)
        self._kind, self._topics, self._partitions, self._listener = _NOTHING, frozenset(), (), None
        self._membership.unsubscribe()

    def _set(self, kind: str) -> None:
        if self._kind not in (_NOTHING, kind):
            raise errors.IllegalStateError("Subscription to topics, partitions and pattern are mutually exclusive")
        self._kind = kind

    def _apply(self) -> None:
        if not self._started or not self._kind:
            return
        if self._kind == _PARTITIONS:
            self._read(self._partitions)
            return
        self._asked |= self._topics
        if not self._with_group:
            queues = self._reader.queues(self._matching())
            self._read(tuple((each.topic, each.number) for each in queues))
        elif self._kind == _PATTERN:
            self._membership.subscribe({"pattern": f"{self._pattern}.*"}, self._listener)
        else:
            self._membership.subscribe({"subscribe": self._reader.known(sorted(self._topics))}, self._listener)

    def _read(self, partitions: tuple[Partition, ...]) -> None:
        if self._reader.node is None:
            self._reader.begin({"subscribe": []}, self._settings)
            self._reader.tell(BeginPoll())
        self._reader.assign(partitions, from_committed=self._with_group)

    def _matching(self) -> list[str]:
        topics = self._reader.all_topics()
        if self._kind == _PATTERN:
            return [each for each in topics if re.match(self._pattern, each)]
        return [each for each in topics if each in self._topics]

    # What is there.

    @property
    def exists(self) -> bool:
        """Whether something is subscribed to or assigned."""
        return bool(self._kind)

    @property
    def by_group(self) -> bool:
        """Whether the group assigns the partitions."""
        return self._with_group and self._kind in (_TOPICS, _PATTERN)

    @property
    def has_assignment(self) -> bool:
        """Whether partitions are assigned, none at all among them."""
        if not self._started:
            return self._kind == _PARTITIONS
        return self._membership.has_assignment if self.by_group else bool(self._kind)

    @property
    def is_changing(self) -> bool:
        """Whether there is no assignment, or another is about to come."""
        if self.by_group:
            return self._membership.rebalancing
        return not self._kind

    def has_asked_for(self, topic: str) -> bool:
        """Whether the client knows a topic: one that it reads."""
        return topic in self._asked or any(each[0] == topic for each in self._reader.positions())

    def unknown(self) -> list[str]:
        """Topics that were subscribed to and are not there."""
        there = self._reader.all_topics()
        return sorted(each for each in self._topics if each not in there)

    def topics(self) -> Any:
        """As ``subscription()`` tells them."""
        if self._kind == _PATTERN:
            return frozenset(self._matching())
        return self._topics if self._kind else set()

    def assigned(self) -> Any:
        """As ``assignment()`` tells them."""
        if not self.has_assignment:
            return set()
        return frozenset(as_set(self._reader.read if self._started else self._partitions))

    def check(self, partition: Any) -> Partition:
        """The partition. Raises `IllegalStateError` where it is not assigned."""
        if not (self.exists and self.has_assignment):
            raise AssertionError
        if tuple(partition) not in self._reader.read:
            raise errors.IllegalStateError(f"No current assignment for partition {partition}")
        return TopicPartition(*partition).topic, TopicPartition(*partition).partition
