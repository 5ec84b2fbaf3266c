"""A consumer with confluent-kafka's surface, in virtual time: the user's own loop runs against the model.

Every call goes through `Handling.call`, where the test lets things happen. poll() lets time pass until a record is due
or its timeout is over; callbacks run inside of poll(), close() and unsubscribe(), as in the real client.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from compare.testing import kafka_assignment, kafka_offsets
from compare.testing import kafka_errors as errors
from compare.testing.clock import in_ticks
from compare.testing.handling import HandlingGroup
from compare.testing.kafka_assignment import subscription_of
from compare.testing.kafka_member import KafkaMember, Partition
from compare.testing.kafka_messages import Message, error_message
from compare.testing.kafka_metadata import ClusterMetadata, metadata_of
from compare.testing.librdkafka_names import CONSUMER_NAMES, LIBRDKAFKA_NAMES
from kafka_coordinator.consumer.callbacks import ASSIGNED, LOST, REVOKED
from kafka_coordinator.consumer.settings import NAMES
from kafka_coordinator.consumer.state import ListenerCall
from protocols.engine.nodes import Time

Listener: TypeAlias = Callable[["KafkaConsumer", errors.Listed], object]

ENDLESS_MS: Time = 3_600_000.0
"""poll() without a timeout gives up (`RuntimeError`) when no record came for so long."""


class KafkaConsumer:
    """One member whose loop is the user's. Made by `Group.consumer`; not to be used from several threads.

    ``config`` may be the one of the real consumer: what the model knows of it is taken, anything else (addresses,
    security) left aside; a name that librdkafka does not know is refused, as it refuses it. What the group's settings
    say holds where it says nothing.
    """

    def __init__(self, group: HandlingGroup, member: str, config: Mapping[str, object]) -> None:
        self.member = member
        self._group, self._clock, self._handling = group, group.clock, group.handling
        for name in config:
            if name not in LIBRDKAFKA_NAMES and name not in CONSUMER_NAMES and name not in NAMES:
                raise errors.exception("_INVALID_ARG", f'No such configuration property: "{name}"')
        self._config = dict(config)
        self._inner = KafkaMember(group, member)
        self._closed = self._subscribed = False
        self._listeners: dict[str, Listener | None] = {}
        self._polled_at: Time | None = None
        self._fatal_told = False

    def __repr__(self) -> str:
        return f"<KafkaConsumer {self.member} of {self._group!r}>"

    # Subscription.

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Listener | None = None,
        on_revoke: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Become a member that subscribes to these topics (one that begins with ``^`` is a pattern); it joins in
        poll(). Without ``on_lost``, ``on_revoke`` is called instead."""
        with self._call():
            how = subscription_of(topics)
            self._listeners = {ASSIGNED: on_assign, REVOKED: on_revoke, LOST: on_lost or on_revoke}
            if not self._subscribed and self._inner.node is not None:
                self._inner.assign(())
            self._subscribed = True
            if self._inner.node is None:
                self._inner.start(how, self._config)
            elif "pattern" in how:
                raise errors.exception("_STATE", "a pattern can only be subscribed to at first")
            else:
                self._group.happen(subscribe={self.member: list(topics)})
            self._inner.serve(self._run_listener)

    def unsubscribe(self) -> None:
        """Leave the group; the callbacks run here."""
        with self._call():
            if self._subscribed:
                self._group.happen(subscribe={self.member: []})
                self._inner.serve(self._run_listener)
                self._subscribed = False

    def _run_listener(self, called: ListenerCall) -> None:
        if (listener := self._listeners.get(called.kind)) is not None:
            listener(self, [errors.TopicPartition(topic, number) for topic, number in called.partitions])

    # Records.

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next record; None when none came for ``timeout`` seconds of virtual time. May return an error instead;
        after a fatal one nothing comes any more."""
        found = self._take(1, timeout)
        return found[0] if found else None

    def consume(self, num_messages: int = 1, timeout: float | None = -1) -> list[Message]:
        """Up to so many records, as many as came within ``timeout`` seconds."""
        return self._take(num_messages, timeout)

    def _take(self, most: int, timeout: float | None) -> list[Message]:
        with self._call():
            inner, clock = self._inner, self._clock
            late = self._exceeded(inner) if self._subscribed else None
            if late is not None:
                return [late]
            endless = timeout is None or timeout < 0
            until = clock.time + (ENDLESS_MS if timeout is None or endless else in_ticks(timeout))
            until = min(until, max(clock.limit, clock.time))
            if inner.node is None:
                self._group.clock.run(until, self._group.world)
                return []
            try:
                found = inner.poll(most, until, self._run_listener, fatal_told=self._fatal_told)
            finally:
                self._polled_at = clock.time
            if inner.is_alive and inner.state.user.fatal and not self._fatal_told:
                name = inner.state.user.fatal
                self._fatal_told = True
                return [*found, error_message(name, f"Fatal error: {name}", fatal=True)]
            if endless and not found and inner.is_alive and clock.time < clock.limit:
                raise RuntimeError(f"{self.member}: poll() without a timeout, and no record came for an hour")
            return found

    def _exceeded(self, inner: KafkaMember) -> Message | None:
        """The error that the first poll() after too long a pause returns."""
        limit = inner.state.config.settings.max_poll_interval_ms
        if self._polled_at is None or self._clock.time - self._polled_at <= limit:
            return None
        self._polled_at = self._clock.time
        return error_message("_MAX_POLL_EXCEEDED", f"Application maximum poll interval ({limit}ms) exceeded")

    # Commits.

    def commit(
        self, message: Message | None = None, offsets: errors.Partitions | None = None, asynchronous: bool = True
    ) -> errors.Listed | None:
        """Commit the offset after a message, these offsets, or where the user's code stands.

        Not ``asynchronous``: waits for the answer, and raises `KafkaException` where it is a refusal. Where there is
        nothing to commit, it raises with ``_NO_OFFSET``.
        """
        with self._call():
            inner = self._member()
            wanted = kafka_offsets.to_commit(inner, message, offsets)
            if not wanted:
                raise errors.exception("_NO_OFFSET", "Commit failed: Local: No offset stored")
            inner.commit(wanted)
            if asynchronous:
                return None
            outcome = inner.committed_now()
            if outcome:
                raise errors.of_commit(outcome)
            return [errors.TopicPartition(topic, number, offset) for (topic, number), offset in wanted.items()]

    def committed(self, partitions: errors.Partitions, timeout: float | None = None) -> errors.Listed:
        """The group's committed offsets of these partitions."""
        with self._call():
            return kafka_offsets.with_offsets(partitions, self._inner.committed())

    def position(self, partitions: errors.Partitions) -> errors.Listed:
        """Where the user's code stands in these partitions: after the last record that it was given."""
        with self._call():
            return kafka_offsets.with_offsets(partitions, self._inner.position)

    def store_offsets(self, message: Message | None = None, offsets: errors.Partitions | None = None) -> None:
        """What commits that name no offsets are of, where ``enable.auto.offset.store`` is off: the offset after a
        message, or these."""
        with self._call():
            wanted = kafka_offsets.named(message, offsets)
            if not wanted:
                raise ValueError("expected either message or offsets")
            inner = self._member()
            if not inner.stores_itself:
                raise errors.exception("_INVALID_ARG", "store_offsets() needs enable.auto.offset.store=false")
            kafka_assignment.check_held(inner, [errors.TopicPartition(*each) for each in wanted])
            inner.store(wanted)

    # Assignment.

    def assignment(self) -> errors.Listed:
        """The partitions that are read now."""
        with self._call():
            return [errors.TopicPartition(topic, number) for topic, number in self._inner.read]

    def assign(self, partitions: errors.Partitions) -> None:
        """Read exactly these partitions: of those that the group has given; or, without a subscription, any, as
        nobody's member, from the offsets that they name or the committed ones."""
        with self._call():
            if self._subscribed:
                kafka_assignment.check_held(self._inner, partitions)
                self._inner.read.clear()
                kafka_assignment.begin(self._inner, partitions)
            else:
                self._assign_alone(partitions, kafka_assignment.partitions_of(partitions))

    def unassign(self) -> None:
        """Read nothing any more, until partitions are assigned again."""
        with self._call():
            if self._subscribed:
                self._inner.read.clear()
            elif self._inner.node is not None:
                self._inner.assign(())

    def incremental_assign(self, partitions: errors.Partitions) -> None:
        """Read these partitions, too."""
        with self._call():
            if self._subscribed:
                kafka_assignment.begin(self._inner, partitions)
            else:
                self._assign_alone(partitions, [*self._inner.read, *kafka_assignment.partitions_of(partitions)])

    def incremental_unassign(self, partitions: errors.Partitions) -> None:
        """Read these partitions no more."""
        with self._call():
            gone = kafka_assignment.partitions_of(partitions)
            if self._subscribed:
                for each in gone:
                    self._inner.read.pop(each, None)
            else:
                self._assign_alone((), [each for each in self._inner.read if each not in gone])

    def seek(self, partition: errors.Partitioned) -> None:
        """Read on in a partition from its ``offset``."""
        with self._call():
            kafka_assignment.begin(self._member(), [partition])

    def pause(self, partitions: errors.Partitions) -> None:
        """Hand out no records of these partitions; everything else goes on."""
        with self._call():
            self._inner.paused.update(kafka_assignment.partitions_of(partitions))

    def resume(self, partitions: errors.Partitions) -> None:
        """Hand them out again."""
        with self._call():
            self._inner.paused.difference_update(kafka_assignment.partitions_of(partitions))

    def _assign_alone(self, named: errors.Partitions, listed: Sequence[Partition]) -> None:
        queues = {topic: len(each) for topic, each in self._group.topics.items()}
        kafka_assignment.assign_alone(self._inner, named, listed, queues, self._config)

    def memberid(self) -> str:
        """The id that the coordinator gave; empty without a membership."""
        with self._call():
            return "" if self._inner.node is None else self._inner.state.membership.member_id

    def get_watermark_offsets(
        self, partition: errors.Partitioned, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset of a partition, and the one of the next record that will be written."""
        with self._call():
            return 0, self._inner.end_offset((partition.topic, partition.partition))

    def offsets_for_times(self, partitions: errors.Partitions, timeout: float | None = None) -> errors.Listed:
        """Of each partition the first record written at the time (milliseconds) that stands for its offset, or later;
        `OFFSET_END` where there is none."""
        with self._call():
            return kafka_offsets.at_times(self._inner, partitions)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Brokers and topics, or one topic alone."""
        with self._call():
            return metadata_of(self._inner.cluster, topic)

    def close(self) -> None:
        """Commit, run the callbacks, leave the group."""
        if not self._closed:
            with self._call():
                self._inner.close(self._run_listener)
                self._closed = True

    def __enter__(self) -> "KafkaConsumer":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        return self._inner.is_alive

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        self._inner.wake()

    def _member(self) -> KafkaMember:
        if self._inner.node is None:
            raise errors.exception("_STATE", "nothing was subscribed to or assigned yet")
        return self._inner

    def _call(self) -> AbstractContextManager[None]:
        if self._closed:
            raise RuntimeError("Consumer closed")
        return self._handling.call(self)
