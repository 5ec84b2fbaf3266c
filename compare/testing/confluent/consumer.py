"""A consumer with confluent-kafka's surface, in virtual time: the user's own loop runs against the model.

Every call goes through `Handling.call`, where the test lets things happen. poll() lets time pass until a record is due
or its timeout is over; callbacks run inside of poll(), close() and unsubscribe(), as in the real client.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, TypeAlias

from compare.testing.confluent import arguments, assigning, errors
from compare.testing.confluent.arguments import NOT_GIVEN
from compare.testing.confluent.configuration import configuration
from compare.testing.confluent.errors import where_of
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import ClusterMetadataDouble, Log, Message, metadata_of
from compare.testing.confluent.offsets import Commits, at_times, check_answered, named, positions, watermarks
from compare.testing.confluent.polling import Polling
from compare.testing.faults import whole
from compare.testing.handling import HandlingGroup
from compare.testing.plans import DEFAULT
from compare.testing.transactions import Membership
from compare.testing.watching import SlowCallback
from kafka_coordinator.catalogue import NO_GENERATION
from kafka_coordinator.cluster import ASSIGNED, LOST, REVOKED, ListenerCall
from protocols.errors import UserError

_CALLBACKS: Final = {ASSIGNED: "on_assign", REVOKED: "on_revoke", LOST: "on_lost"}

Listener: TypeAlias = Callable[["KafkaConsumer", errors.Listed], object]


class KafkaConsumer:
    """One member whose loop is the user's. Made by `Group.consumer`; several threads may call it, one at a time.

    ``config``: as of the real consumer, refused as it refuses it; single settings may be keyword arguments. What the
    model does not know (addresses, security) is left aside; the group's settings hold where it says nothing.
    """

    def __init__(self, group: HandlingGroup, member: str, config: object = None, **more: object) -> None:
        if config is not None and not isinstance(config, dict):
            raise TypeError("expected configuration dict")
        self.member = member
        self._group, self._clock, self._handling = group, group.clock, group.handling
        self._configuration = configuration({**(config or {}), **more}, group.plan.settings)
        _check_group_id(group, self._configuration.group_id)
        self._inner = inner = KafkaMember(group, member, Log(self._configuration, self._clock))
        self._commits = Commits(inner, self._configuration.callbacks.get("on_commit"), group.handling.metadata)
        self._polling = Polling(group, inner, self._configuration, self._commits)
        self._closed = self._subscribed = False
        self._listeners: dict[str, Listener | None] = {}

    def __repr__(self) -> str:
        return f"<KafkaConsumer {self.member} of {self._group!r}>"

    # Subscription.

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Listener | None = NOT_GIVEN,
        on_revoke: Listener | None = NOT_GIVEN,
        on_lost: Listener | None = NOT_GIVEN,
    ) -> None:
        """Become a member that subscribes to these topics (one that begins with ``^`` is a pattern); it joins in
        poll(). Without ``on_lost``, ``on_revoke`` is called instead."""
        self._check_open()
        listed = arguments.topics(topics)
        listeners = arguments.listeners(on_assign, on_revoke, on_lost)
        with self._call():
            self._check_going("set subscription")
            self._listeners = listeners
            known = [topic for topic in listed if topic.startswith("^") or topic in self._group.topics]
            self._polling.unknown = [topic for topic in listed if topic not in known]
            how = assigning.subscription_of(known)
            if not self._subscribed and self._inner.node is not None:
                self._inner.hand_over()
            self._subscribed, self._inner.unsubscribed = True, False
            if self._inner.node is None:
                self._inner.start(how, self._configuration)
            elif "pattern" in how:
                raise errors.exception("_STATE", "a pattern can only be subscribed to at first")
            else:
                self._group.happen(subscribe={self.member: known})
                self._inner.join_anew()

    def unsubscribe(self) -> None:
        """Leave the group; the callbacks run in the next poll()."""
        with self._call():
            if self._subscribed:
                self._inner.commit_before_leaving()
                self._inner.unsubscribed = self._inner.state.membership.generation != NO_GENERATION
                self._group.happen(subscribe={self.member: []})
                self._subscribed = False

    def _run_listener(self, called: ListenerCall) -> None:
        listener = self._listeners.get(called.kind)
        if listener is not None and not self._inner.says_nothing(called):
            began = self._clock.time
            try:
                self._inner.lend(listener, self, [errors.TopicPartition(*partition) for partition in called.partitions])
            finally:
                if (now := self._clock.time) > began:
                    slow = SlowCallback(began, now, self.member, _CALLBACKS[called.kind])
                    self._handling.slow_callbacks.append(slow)

    # Records.

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next record; None when none came for ``timeout`` seconds of virtual time. May return an error instead;
        after a fatal one nothing comes any more."""
        found = self._take(1, arguments.timeout(timeout))
        return found[0] if found else None

    def consume(self, num_messages: int = 1, timeout: float | None = -1) -> list[Message]:
        """Up to so many records, as many as came within ``timeout`` seconds."""
        count, until = whole(num_messages), arguments.timeout(timeout)
        self._check_open()
        return self._take(arguments.count(count), until)

    def _take(self, most: int, timeout: float | None) -> list[Message]:
        with self._call(reads=True):
            if not most:
                return []
            return self._polling.take(most, timeout, self._run_listener, subscribed=self._subscribed)

    # Commits.

    def commit(
        self, message: Message | None = None, offsets: errors.Partitions | None = None, asynchronous: bool = True
    ) -> errors.Listed | None:
        """Commit the offset after a message, these offsets, or what is stored: after the last record of each partition
        that was given out.

        Not ``asynchronous``: waits for the answer, and raises `KafkaException` where it is a refusal, or where there is
        nothing new to commit (``_NO_OFFSET``). Else ``on_commit`` of the configuration is told in a later poll().
        """
        with self._call():
            if named(message, offsets) and self._inner.node is None:
                self._inner.start({"subscribe": []}, self._configuration)
            if not asynchronous:
                if self._polling.is_over:
                    raise errors.exception("_FATAL", f"Commit failed: {errors.said('_FATAL')}")
                self._inner.wait_to_begin()
                return self._commits.commit(message, offsets)
            self._commits.send(message, offsets)
            return None

    def committed(self, partitions: errors.Partitions, timeout: float | None = None) -> errors.Listed:
        """The group's committed offsets of these partitions."""
        with self._call():
            listed, within = arguments.partitions(partitions), arguments.timeout(timeout)
            check_answered(self._inner, within)
            self._inner.wait_to_begin()
            return self._commits.committed(listed)

    def position(self, partitions: errors.Partitions) -> errors.Listed:
        """Where the user's code stands in these partitions: after the last record that it was given."""
        with self._call():
            return positions(self._inner, arguments.partitions(partitions))

    def store_offsets(self, message: Message | None = None, offsets: errors.Partitions | None = None) -> None:
        """What commits that name no offsets are of, where ``enable.auto.offset.store`` is off: the offset after a
        message, or these."""
        with self._call():
            self._commits.store(message, offsets)

    # Assignment.

    def assignment(self) -> errors.Listed:
        """The partitions that are read now."""
        with self._call():
            return assigning.assigned(self._inner)

    def assign(self, partitions: errors.Partitions) -> None:
        """Read exactly these partitions: of those that the group has given; or, without a subscription, any, as
        nobody's member, from the offsets that they name or the committed ones."""
        with self._assigning():
            assigning.assign(self._inner, partitions, as_member=self._subscribed)

    def unassign(self) -> None:
        """Read nothing any more, until partitions are assigned again."""
        with self._assigning():
            assigning.unassign(self._inner, as_member=self._subscribed)

    def incremental_assign(self, partitions: errors.Partitions) -> None:
        """Read these partitions, too."""
        with self._assigning():
            assigning.incremental_assign(self._inner, partitions, as_member=self._subscribed)

    def incremental_unassign(self, partitions: errors.Partitions) -> None:
        """Read these partitions no more."""
        with self._assigning():
            assigning.incremental_unassign(self._inner, partitions, as_member=self._subscribed)

    def _assigning(self) -> AbstractContextManager[None]:
        call = self._call()
        if self._inner.node is None:
            self._inner.start({"subscribe": []}, self._configuration)
        return call

    def seek(self, partition: errors.Partitioned) -> None:
        """Read on in a partition from its ``offset``."""
        with self._call():
            assigning.seek(self._inner, arguments.partition(partition))

    def pause(self, partitions: errors.Partitions) -> None:
        """Hand out no records of these partitions until resume(), after a rebalance, too; everything else goes on."""
        with self._call():
            listed = map(where_of, arguments.partitions(partitions))
            self._inner.pause([partition for partition in listed if self._inner.knows(partition)])

    def resume(self, partitions: errors.Partitions) -> None:
        """Hand them out again."""
        with self._call():
            self._inner.paused.difference_update(map(where_of, arguments.partitions(partitions)))

    def consumer_group_metadata(self) -> bytes:
        """For a producer's ``send_offsets_to_transaction``: group and membership, as bytes."""
        with self._call():
            membership = Membership()
            if self._inner.node is not None:
                known = self._inner.state.membership
                instance = self._inner.state.config.instance_id if known.generation >= 0 else None
                membership = Membership(known.member_id, known.generation, instance)
            return arguments.encoded(self._configuration.group_id, membership)

    def memberid(self) -> str | None:
        """The id that the coordinator gave; None without a membership."""
        with self._call():
            return None if self._inner.node is None else self._inner.state.membership.member_id or None

    def get_watermark_offsets(
        self, partition: errors.Partitioned, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset of a partition, and the one of the next record that will be written."""
        with self._call():
            if not cached:
                self._inner.wait_to_begin()
            return watermarks(self._inner, arguments.partition(partition), cached=cached)

    def offsets_for_times(self, partitions: errors.Partitions, timeout: float | None = None) -> errors.Listed:
        """Of each partition the first record written at the time (milliseconds) that stands for its offset, or later;
        `OFFSET_END` where there is none."""
        with self._call():
            self._inner.wait_to_begin()
            return at_times(self._inner, arguments.partitions(partitions))

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadataDouble:
        """Brokers and topics, or one topic alone."""
        self._check_handle()
        arguments.timeout(timeout)
        with self._call():
            self._inner.wait_to_begin()
            return metadata_of(self._inner.cluster, topic)

    def cluster_id(self, timeout: float = -1) -> str | None:
        return self.list_topics(timeout=timeout).cluster_id

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Who the user is, from the next connection on: of no consequence here."""
        self._check_handle()
        arguments.credentials(username, password)

    def close(self) -> None:
        """Commit, run the callbacks, leave the group."""
        if self._closed:
            return
        with self._call():
            try:
                if self._inner.calling is None:
                    self._inner.close(self._run_listener)
                else:
                    self._inner.afterwards = partial(self._inner.close, self._run_listener)
            finally:
                self._closed = True
            self._inner.log.serve()

    def __enter__(self) -> "KafkaConsumer":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        return self._inner.is_alive

    @property
    def paused(self) -> set[tuple[str, int]]:
        """The partitions that are paused now (only here, not in the real client)."""
        return self._inner.paused & self._inner.read.keys()

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        self._inner.wake()

    def _check_open(self) -> None:
        if self._closed:
            error = RuntimeError("Consumer closed")
            self._handling.refused(self, error)
            raise error

    def _check_handle(self) -> None:
        if self._closed:
            raise RuntimeError("Handle has been closed")

    def _check_going(self, what: str) -> None:
        if self._polling.is_over:
            raise errors.exception("_FATAL", f"Failed to {what}: Local: Fatal error")

    def _call(self, *, reads: bool = False) -> AbstractContextManager[None]:
        self._check_open()
        return self._handling.call(self, reads=reads)


def _check_group_id(group: HandlingGroup, given: str) -> None:
    """Consumers of one group name one ``group.id``: the group's name, or for a group that was given none what the first
    of them names. Raises `UserError` for a second one."""
    handling = group.handling
    first = group.name if group.name != DEFAULT.name else handling.group_id or given
    if given not in (first, group.name):
        raise UserError(
            f"group.id is {given!r} in a group whose group.id is {first!r},"
            f" expected one group.id for all of them, or a group of its own: kafka_group(name={given!r})"
        )
    if given != group.name:
        handling.group_id = given
