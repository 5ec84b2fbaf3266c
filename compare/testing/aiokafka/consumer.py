"""AIOKafkaConsumer in virtual time: the user's coroutines run against the model of the group."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import inf
from typing import Any

from compare.testing.aiokafka.classes import (
    ConsumerRebalanceListener,
    ConsumerRecord,
    TopicPartition,
    errors,
)
from compare.testing.aiokafka.commit_calls import CommitCalls
from compare.testing.aiokafka.configuration import checked_consumer
from compare.testing.aiokafka.membership import Membership
from compare.testing.aiokafka.subscription import Subscription
from compare.testing.aiokafka.waiting import Waiting
from compare.testing.kafka.python_settings import model_settings, reset_of
from compare.testing.kafka.reader import Missing, Reader, Taken
from compare.testing.virtual_loop import running_loop

_NOT_STARTED = "'NoneType' object has no attribute '{}'"


class AIOKafkaConsumer(CommitCalls):
    """One member whose coroutines are the user's; made by the class that `Group.aiokafka` hands out.

    It takes the arguments of aiokafka's class and refuses what that refuses; addresses, security and sizes of fetches
    are left aside. Records are there as soon as they are written.
    """

    @classmethod
    def next_name(cls, client_id: str | None) -> str:
        """The name of the member that is made now."""
        raise NotImplementedError

    def __init__(self, *topics: str, **given: Any) -> None:
        self._loop = running_loop(type(self).__name__)
        values = checked_consumer(given)
        group = self.group
        group_settings = group.plan.settings
        self._values = values
        self.member = self.next_name(given.get("client_id"))
        reset = reset_of(values, given, group_settings)
        settings = model_settings(values, given, group_settings, reset)
        if values["group_id"] is None:
            settings["enable.auto.commit"] = False
        self._reader = reader = Reader(group, self.member, reset)
        self._waiting = Waiting(self._loop, self.member, lambda: reader.is_there, lambda: reader.stands)
        idle = float(values["max_poll_interval_ms"])
        self._membership = Membership(self._loop, reader, self._waiting, settings, idle)
        named = {"instance_id": values["group_instance_id"], "rack": values["client_rack"]}
        self._membership.fields = {name: value for name, value in named.items() if value}
        self._subscription = Subscription(reader, self._membership, values["group_id"] is not None, settings)
        self._started = self._closed = False
        self._task: asyncio.Task[None] | None = None
        self._committing = asyncio.Lock()
        if topics:
            self._subscription.to_topics(topics, None)

    # Life.

    async def start(self) -> None:
        """Connect, and wait for the first assignment where topics are subscribed to. Raises
        `UnknownTopicOrPartitionError` after ``request_timeout_ms`` for a topic that is not there."""
        async with self._called():
            if self._started:
                raise AssertionError("Did you call `start` twice?")
            if self._subscription.unknown():
                await asyncio.sleep(self._values["request_timeout_ms"] / 1000)
                if self._subscription.unknown():
                    raise errors.UnknownTopicOrPartitionError()
            if self._values["isolation_level"] not in ("read_uncommitted", "read_committed"):
                raise ValueError(f"Incorrect isolation level {self._values['isolation_level']}")
            self._started = True
            self._subscription.start()
            self._task = self._loop.create_task(self._membership.live())
            if self._subscription.by_group:
                await self._waiting.until(lambda: self._membership.has_assignment)

    async def stop(self) -> None:
        """Commit where that is automatic, leave the group, wake who waits for records."""
        if self._closed:
            return
        async with self._called():
            self._closed = True
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
                await self._membership.leave()
            self._waiting.serve()
            self._waiting.close()

    async def __aenter__(self) -> "AIOKafkaConsumer":
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    # Subscription.

    def subscribe(self, topics: Any = (), pattern: str | None = None, listener: Any = None) -> None:
        """Become a member that subscribes to topics, or to those that match a pattern; it joins in the background."""
        if not (topics or pattern):
            raise TypeError("You should provide either `topics` or `pattern`")
        if topics and pattern:
            raise TypeError("You can't provide both `topics` and `pattern`")
        if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
            raise TypeError("listener should be an instance of ConsumerRebalanceListener")
        if pattern is None:
            self._subscription.to_topics(topics, listener)
            return
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
        self._subscription.to_pattern(pattern, listener)

    def unsubscribe(self) -> None:
        """Leave the group, and read nothing."""
        self._subscription.nothing()

    def assign(self, partitions: Any) -> None:
        """Read exactly these partitions, as nobody's member."""
        self._subscription.to_partitions(partitions)

    def subscription(self) -> Any:
        """The topics that are subscribed to."""
        return self._subscription.topics()

    def assignment(self) -> Any:
        """The partitions that are assigned now."""
        return self._subscription.assigned()

    # Records.

    async def getone(self, *partitions: Any) -> Any:
        """The next record, waited for as long as it takes; of these partitions, if some are named."""
        self._check_partitions(partitions)
        async with self._called():
            with self._fetching():
                while True:
                    if self._closed:
                        raise errors.ConsumerStoppedError
                    await self._wait_for_assignment()
                    found = self._take(partitions, 1)
                    if found:
                        return next(iter(found.values()))[0]
                    await self._wait_for_records(inf)

    async def getmany(self, *partitions: Any, timeout_ms: float = 0, max_records: int | None = None) -> dict[Any, Any]:
        """Partition to the records that are there, waited for up to ``timeout_ms``."""
        self._check_partitions(partitions)
        if max_records is not None and (not isinstance(max_records, int) or max_records < 1):
            raise ValueError("`max_records` must be a positive Integer")
        async with self._called():
            with self._fetching():
                until = self._now + timeout_ms
                while True:
                    await self._wait_for_assignment()
                    found = self._take(partitions, max_records or self._values["max_poll_records"] or 2**31)
                    if found or self._closed or self._now >= until:
                        return found
                    await self._wait_for_records(until)

    def __aiter__(self) -> "AIOKafkaConsumer":
        if self._closed:
            raise errors.ConsumerStoppedError
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.getone()
        except errors.ConsumerStoppedError:
            raise StopAsyncIteration from None

    def _check_partitions(self, partitions: tuple[Any, ...]) -> None:
        if not all(isinstance(each, TopicPartition) for each in partitions):
            raise AssertionError
        if self._closed:
            raise errors.ConsumerStoppedError
        if not self._started:
            raise AttributeError(_NOT_STARTED.format("check_errors"))

    async def _wait_for_assignment(self) -> None:
        def there() -> bool:
            return self._closed or not self._subscription.is_changing

        await self._waiting.until(there)

    async def _wait_for_records(self, until: float) -> None:
        reader = self._reader

        def there() -> bool:
            if self._closed or self._subscription.is_changing or reader.node is None:
                return self._closed
            return reader.next_due() <= self._now

        def due() -> float:
            return inf if reader.node is None or not reader.is_alive else reader.next_due()

        await self._waiting.until(there, until=until, next_due=due)

    def _take(self, partitions: tuple[Any, ...], most: int) -> dict[Any, list[Any]]:
        if self._closed or self._reader.node is None:
            return {}
        missing = self._reader.fetch()
        if missing is not None:
            raise _unreadable(missing)
        taken = self._reader.take(most, [tuple(each) for each in partitions])
        found: dict[Any, list[Any]] = {}
        for each in taken:
            found.setdefault(TopicPartition(*each.partition), []).append(self._record(each))
        self._reader.hand_out(taken)
        return found

    def _record(self, taken: Taken) -> Any:
        (topic, number), content = taken.partition, taken.content
        key, value = content.key, content.value
        read_key, read_value = self._values["key_deserializer"], self._values["value_deserializer"]
        self.group.handling.hand_out(self.member, topic, number, taken.offset)
        return ConsumerRecord(
            topic,
            number,
            taken.offset,
            taken.timestamp,
            0,
            read_key(key) if read_key else key,
            read_value(value) if read_value else value,
            None,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            tuple(content.headers or ()),
        )

    # What the other calls share.

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        return self._reader.is_there

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        if self._reader.stands:
            self._reader.wake()

    @property
    def _now(self) -> float:
        return self._loop.group.clock.time

    @contextmanager
    def _fetching(self) -> Iterator[None]:
        self._membership.fetching += 1
        try:
            yield
        finally:
            self._membership.fetching -= 1
            if not self._membership.fetching:
                self._membership.fetched_at = self._now

    @asynccontextmanager
    async def _called(self) -> AsyncIterator[None]:
        """Around every coroutine of the user's: here the test lets things happen."""
        still = self.group.handling.standing.pop(self.member, 0.0)
        if still > self._now:
            await asyncio.sleep((still - self._now) / 1000)
        with self.group.handling.call(self):
            yield


def _unreadable(missing: Missing) -> Exception:
    partition = TopicPartition(*missing.partition)
    if missing.offset is None:
        return errors.NoOffsetForPartitionError(partition)  # type: ignore[no-any-return]
    return errors.OffsetOutOfRangeError({partition: missing.offset})  # type: ignore[no-any-return]
