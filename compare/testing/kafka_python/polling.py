"""poll() of a KafkaConsumer: joins, rejoins and listeners happen inside, as in the Java client."""

from collections.abc import Callable, Mapping
from typing import Any

from compare.testing.kafka.reader import Missing, Reader, Taken
from compare.testing.kafka_python.classes import (
    ConsumerRecord,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from compare.testing.kafka_python.subscription import Subscription
from kafka_coordinator.consumer.callbacks import ASSIGNED, LOST
from kafka_coordinator.consumer.commands import BeginPoll, EndPoll, ListenerReturned
from protocols.engine.nodes import Time

_EPOCH = 0


class Polling:
    """What one consumer does in poll(). ``values``: its configuration."""

    def __init__(self, reader: Reader, subscription: Subscription, values: Mapping[str, Any]) -> None:
        self._reader, self._subscription, self._values = reader, subscription, values
        self._in_listener = False

    def poll(self, most: int, now: Callable[[], Time], until: Time) -> list[Taken]:
        """Be in poll() until records are there or ``until`` is reached. They are not handed out yet."""
        reader = self._reader
        if self._subscription.is_new:
            if self._subscription.by_group and (reader.node is None or not reader.state.subscription.owned):
                self._tell("on_partitions_revoked", ())
            self._subscription.join()
        if reader.node is None or self._in_listener:
            reader.live_on(until)
            return []
        reader.tell(BeginPoll())
        try:
            while True:
                reader.wake()
                self.serve()
                if not reader.is_alive:
                    return []
                if reader.state.user.fatal:
                    raise _fatal(reader.state.user.fatal)
                missing = reader.fetch()
                if missing is not None:
                    raise _unreadable(missing)
                found = reader.take(most)
                if found or now() >= until:
                    return found
                self._live(min(until, reader.next_due()))
        finally:
            if reader.is_alive:
                reader.tell(EndPoll())

    def until_positions(self, until: Time) -> None:
        """Let time pass until the positions of all that is assigned are known."""
        reader = self._reader
        if reader.node is None or reader.has_positions():
            return
        reader.tell(BeginPoll())
        reader.live(until, reader.has_positions)
        if reader.is_alive:
            reader.tell(EndPoll())

    def _live(self, until: Time) -> None:
        reader = self._reader
        subscription = reader.state.subscription
        positions, unpositioned = subscription.positions, subscription.unpositioned

        def wanted() -> bool:
            moved = subscription.positions is not positions or subscription.unpositioned is not unpositioned
            return (
                moved or reader.state.user.listener_call is not None or bool(reader.state.user.fatal) or reader.stands
            )

        reader.live(until, wanted)

    # Listeners.

    def serve(self) -> None:
        """Run the listeners that the client waits for. Raises `KafkaError` where one raises."""
        reader = self._reader
        while reader.node is not None and reader.is_alive and not self._in_listener:
            called = reader.state.user.listener_call
            if called is None:
                return
            problem = None
            try:
                if called.kind == ASSIGNED:
                    reader.take_over(reader.state.subscription.owned)
                    self._tell("on_partitions_assigned", called.partitions)
                else:
                    self._tell(
                        "on_partitions_lost" if called.kind == LOST else "on_partitions_revoked", called.partitions
                    )
            except errors.KafkaError as error:
                problem = error
            finally:
                if reader.is_alive:
                    if called.kind == LOST:
                        reader.take_over(())
                    reader.tell(ListenerReturned())
            if problem is not None:
                raise problem

    def _tell(self, method: str, partitions: tuple[Any, ...]) -> None:
        listener = self._subscription.listener
        if listener is None:
            return
        self._in_listener = True
        try:
            getattr(listener, method)({TopicPartition(*each) for each in partitions})
        except Exception as error:
            raise errors.KafkaError("User rebalance callback throws an error") from error
        finally:
            self._in_listener = False

    def close(self, now: Callable[[], Time], leave: Callable[[], object]) -> None:
        """Run the listeners, leave."""
        node = self._reader.node
        if node is None or node.is_over:
            return
        leave()
        until = now() + 2 * self._reader.state.config.settings.close_timeout_ms
        while not node.is_over and self._reader.is_alive and now() < until:
            self.serve()
            self._reader.live(until, lambda: node.is_over or node.state.user.listener_call is not None)

    # Records.

    def record(self, taken: Taken) -> Any:
        """The record as the user's code gets it, with key and value deserialised."""
        (topic, number), content = taken.partition, taken.content
        key, value, headers = content.key, content.value, content.headers or []
        return ConsumerRecord(
            topic,
            number,
            _EPOCH,
            taken.offset,
            taken.timestamp,
            0,
            _read(self._values["key_deserializer"], topic, headers, key),
            _read(self._values["value_deserializer"], topic, headers, value),
            list(headers),
            None,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            sum(len(name.encode()) + len(each) for name, each in headers) if headers else -1,
        )


def consumed(reader: Reader) -> dict[Any, Any]:
    """The positions of all that is assigned, as commits want them."""
    positions = reader.positions() if reader.node is not None else {}
    epochs = {each: _EPOCH if each in reader.consumed else -1 for each in positions}
    return {TopicPartition(*each): OffsetAndMetadata(at, "", epochs[each]) for each, at in positions.items()}


def _read(deserializer: Any, topic: str, headers: Any, data: bytes | None) -> Any:
    if deserializer is None:
        return data
    if hasattr(deserializer, "deserialize"):
        return deserializer.deserialize(topic, headers, data)
    return deserializer(data)


def _unreadable(missing: Missing) -> Exception:
    partition = TopicPartition(*missing.partition)
    if missing.offset is None:
        return errors.NoOffsetForPartitionError({partition})  # type: ignore[no-any-return]
    return errors.OffsetOutOfRangeError({partition: missing.offset})  # type: ignore[no-any-return]


def _fatal(name: str) -> Exception:
    if name == "FENCED_INSTANCE_ID":
        return errors.FencedInstanceIdError()  # type: ignore[no-any-return]
    return errors.KafkaError(name)  # type: ignore[no-any-return]
