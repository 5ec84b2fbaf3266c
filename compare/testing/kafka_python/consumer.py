"""KafkaConsumer of kafka-python in virtual time: the user's own loop runs against the model of the group."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from math import inf
from typing import Any

from compare.testing.clock import in_ticks
from compare.testing.kafka.python_settings import model_settings, reset_of
from compare.testing.kafka.reader import Reader, Taken
from compare.testing.kafka_python.classes import ConsumerGroupMetadata, TopicPartition, errors
from compare.testing.kafka_python.commits import Commits, check
from compare.testing.kafka_python.configuration import checked_consumer
from compare.testing.kafka_python.futures import Future
from compare.testing.kafka_python.offset_calls import OffsetCalls
from compare.testing.kafka_python.polling import Polling, consumed
from compare.testing.kafka_python.subscription import Subscription
from kafka_coordinator.consumer.commands import Assign, Store

_ENDLESS_MS = 3_600_000.0
"""An iteration without a timeout gives up (`RuntimeError`) when no record came for so long."""


class KafkaConsumer(OffsetCalls):
    """One member whose loop is the user's; made by the class that `Group.kafka_python` hands out.

    It takes the arguments of kafka-python's class and refuses what that refuses; addresses, security and sizes of
    fetches are left aside. Joins, rejoins and listeners happen in poll() and while records are iterated over.
    """

    @classmethod
    def next_name(cls, client_id: str | None) -> str:
        """The name of the member that is made now."""
        raise NotImplementedError

    def __init__(self, *topics: str, **configs: Any) -> None:
        values = checked_consumer(configs)
        group_settings = self.group.plan.settings
        self.config = self._values = values
        self.member = self.next_name(configs.get("client_id"))
        reset = reset_of(values, configs, group_settings)
        settings = model_settings(values, configs, group_settings, reset)
        if values["group_id"] is None:
            settings["enable.auto.commit"] = False
        named = {"instance_id": values["group_instance_id"], "rack": values["client_rack"]}
        fields = {name: value for name, value in named.items() if value}
        self._reader = Reader(self.group, self.member, reset)
        self._subscription = Subscription(self._reader, values["group_id"] is not None, settings, fields)
        self._polling = Polling(self._reader, self._subscription, values)
        self._commits = Commits(self.group, self._reader, values["default_offset_commit_callback"])
        self._closed = False
        self._batch: Iterator[Any] | None = None
        if topics:
            self._subscription.subscribe(topics, None, None)

    # Subscription.

    def subscribe(self, topics: Any = (), pattern: str | None = None, listener: Any = None) -> None:
        """Become a member that subscribes to topics, or to those that match a pattern; it joins in poll()."""
        with self._call():
            self._subscription.subscribe(topics, pattern, listener)

    def unsubscribe(self) -> None:
        """Leave the group, and read nothing."""
        with self._call():
            self._subscription.nothing()
            self._batch = None

    def assign(self, partitions: Any) -> None:
        """Read exactly these partitions, as nobody's member."""
        if not partitions:
            self.unsubscribe()
            return
        with self._call():
            self._subscription.assign(partitions)

    def assignment(self) -> set[Any]:
        """The partitions that are assigned now."""
        return {TopicPartition(*each) for each in self._reader.read}

    def subscription(self) -> set[str] | None:
        """The topics that are subscribed to; None without a subscription."""
        return None if self._subscription.topics is None else set(self._subscription.topics)

    # Records.

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[Any, list[Any]]:
        """Partition to its next records, waited for up to ``timeout_ms`` of virtual time; ``update_offsets``: positions
        move behind them."""
        if timeout_ms < 0:
            raise ValueError("Timeout must not be negative")
        most = self._values["max_poll_records"] if max_records is None else max_records
        if not isinstance(most, int):
            raise TypeError("max_records must be an integer")
        if most <= 0:
            raise ValueError("max_records must be positive")
        if self._closed:
            raise errors.IllegalStateError("KafkaConsumer is closed")
        with self._call():
            return self._poll(timeout_ms, most, hand_out=update_offsets)

    def _poll(self, timeout_ms: float, most: int, *, hand_out: bool) -> dict[Any, list[Any]]:
        clock = self.group.clock
        until = clock.time + (_ENDLESS_MS if timeout_ms == inf else in_ticks(0, timeout_ms))
        self._commits.serve()
        taken = self._polling.poll(most, lambda: clock.time, min(until, max(clock.limit, clock.time)))
        if self._reader.is_alive:
            self._commits.serve()
        found: dict[Any, list[Any]] = {}
        for each in taken:
            found.setdefault(TopicPartition(*each.partition), []).append(self._polling.record(each))
        if hand_out:
            self._hand_out(taken)
        return found

    def _hand_out(self, taken: list[Taken]) -> None:
        for each in taken:
            self.group.handling.hand_out(self.member, *each.partition, each.offset)
        self._reader.hand_out(taken)

    def __iter__(self) -> "KafkaConsumer":
        return self

    def __next__(self) -> Any:
        """The next record; ends when none came for ``consumer_timeout_ms``."""
        if self._closed:
            raise StopIteration
        with self._call():
            clock = self.group.clock
            wait = self._values["consumer_timeout_ms"]
            until = clock.time + (wait if wait >= 0 and wait != inf else _ENDLESS_MS)
            while True:
                if self._batch is None:
                    left = max(0.0, min(until, max(clock.limit, clock.time)) - clock.time)
                    polled = self._poll(left, self._values["max_poll_records"], hand_out=False)
                    self._batch = self._one_by_one(polled)
                for record in self._batch:
                    return record
                self._batch = None
                if clock.time >= min(until, clock.limit) or not self._reader.is_alive:
                    break
        if wait == inf and clock.time < clock.limit:
            raise RuntimeError(f"{self.member}: no record came for an hour, and consumer_timeout_ms is not set")
        if clock.time >= clock.limit:
            return self.__next__()  # the time of run() is over
        raise StopIteration

    def _one_by_one(self, polled: Mapping[Any, list[Any]]) -> Iterator[Any]:
        reader = self._reader
        for partition, records in polled.items():
            which = tuple(partition)
            for each in records:
                if which not in reader.read or which in reader.paused or reader.position(which) != each.offset:
                    break
                self.group.handling.hand_out(self.member, *which, each.offset)
                reader.hand_out_one(which, each.offset)
                yield each

    # Commits.

    def commit(self, offsets: Mapping[Any, Any] | None = None, timeout_ms: float | None = None) -> None:
        """Commit these offsets, or the positions of all that is assigned, and wait for the answer. Raises
        `CommitFailedError` where the group has gone on without this member."""
        wanted = self._to_commit(offsets)
        with self._call():
            self._commits.commit(wanted, self._until(timeout_ms))

    def commit_async(
        self, offsets: Mapping[Any, Any] | None = None, callback: Callable[..., object] | None = None
    ) -> Future:
        """Commit without waiting; ``callback(offsets, exception or None)`` is called in a later call."""
        wanted = self._to_commit(offsets)
        with self._call():
            return self._commits.send(wanted, callback, self._values["request_timeout_ms"])

    def _to_commit(self, offsets: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
        if self._values["group_id"] is None:
            raise errors.IllegalStateError("Requires group_id")
        if offsets is None:
            return consumed(self._reader)
        check(offsets)
        if offsets and self._reader.node is None:
            self._subscription.begin()
        if offsets and not self._subscription.by_group and not self._reader.read:
            self._reader.tell(Assign(tuple(tuple(each) for each in offsets)))
        return offsets

    # Life.

    def group_metadata(self) -> Any:
        """Which member of the group this is."""
        if self._values["group_id"] is None or self._reader.node is None:
            return ConsumerGroupMetadata(self._values["group_id"])
        member = self._reader.state.membership
        generation = member.generation if member.member_id else -1
        state = "<stable>" if member.state == "STABLE" else "<unjoined>"
        instance = self._values["group_instance_id"]
        return ConsumerGroupMetadata(self._values["group_id"], generation, member.member_id, instance, state)

    def bootstrap_connected(self) -> bool:
        """Whether the brokers were found."""
        return True

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commit where that is automatic (and ``autocommit``), run the listener, leave the group."""
        if self._closed:
            return
        with self._call():
            self._closed = True
            if not autocommit and self._reader.node is not None and self._reader.is_alive:
                self._reader.tell(Store(()))
            clock = self.group.clock
            self._polling.close(lambda: clock.time, lambda: self.group.happen(leave=self.member))
            if self._subscription.by_group:
                self._reader.take_over(())
            if self._reader.node is not None:
                self._commits.serve()

    def __enter__(self) -> "KafkaConsumer":
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        self.close(autocommit=kind is None)

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        return self._reader.is_there

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        if self._reader.stands:
            self._reader.wake()

    def _until(self, timeout_ms: float | None) -> float:
        wait = self._values["request_timeout_ms"] if timeout_ms is None else timeout_ms
        return self.group.clock.time + in_ticks(0, wait)

    def _call(self) -> AbstractContextManager[None]:
        return self.group.handling.call(self)
