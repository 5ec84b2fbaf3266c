"""A RocketMQ push consumer for the user's own listener, in virtual time.

Push means that the client calls: the listener runs while time passes (`clock.advance`, `settle`), one call at a time,
each at the moment at which the client has fetched its records. Every call is counted by `Handling.call`, and what
happens after it (a crash) happens before its result counts.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from compare.testing.handling import HandlingGroup
from compare.testing.stopping import Crashed
from compare.testing.watching import NoStatus, Place
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.topology import MemberKey
from rocketmq_selfbalance.cluster import Client, ListenerReturned, Retried, RocketMQCluster, Work

ALL = ("*", "", None)
"""Expressions that select everything; the model has no tags."""


class ConsumeConcurrentlyStatus(IntEnum):
    """What a concurrent listener returns."""

    CONSUME_SUCCESS = 0
    RECONSUME_LATER = 1


class ConsumeOrderlyStatus(IntEnum):
    """What an orderly listener returns."""

    SUCCESS = 0
    SUSPEND_CURRENT_QUEUE_A_MOMENT = 1


CONSUME_SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
RECONSUME_LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER
SUCCESS = ConsumeOrderlyStatus.SUCCESS
SUSPEND_CURRENT_QUEUE_A_MOMENT = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
_GOOD = (CONSUME_SUCCESS, SUCCESS)
_LATER = (RECONSUME_LATER, SUSPEND_CURRENT_QUEUE_A_MOMENT)


class MessageExt(NamedTuple):
    """A record as a listener gets it. One that was sent back has the topic, body, keys and id that it had at first, and
    the queue and offset of the group's retry topic, as Java's client (5.5.0) shows it."""

    topic: str
    broker_name: str
    queue_id: int
    queue_offset: int
    body: bytes
    keys: str
    msg_id: str
    reconsume_times: int
    born_timestamp: int
    """Milliseconds of virtual time when it was handed out first."""
    origin: Place
    """Queue and offset at first, by which `Group.watch` counts it. No real record tells them: do not use them."""


Listener = Callable[[list[MessageExt]], object]


class PushConsumer:
    """One member whose listener is the user's. Made by `Group.push_consumer`.

    A listener that raises, or returns anything but `CONSUME_SUCCESS`, will get the records again later, as Java's
    client does with null. An orderly one (`SUCCESS`) gets them again after a moment, and nothing else of their queue
    before.
    """

    def __init__(self, group: HandlingGroup, member: str, *, orderly: bool = False) -> None:
        self.member = member
        self.group, self._handling = group, group.handling
        self._topics: list[str] = []
        self._listener: Listener | None = None
        self._settings: dict[str, object] = {"orderly": True} if orderly else {}
        self._tries: dict[tuple[Queue, int], int] = {}
        """How often records that an orderly listener gets now were given to it before."""
        self._node: Client | None = None
        self._serving = self._closed = False

    def __repr__(self) -> str:
        return f"<PushConsumer {self.member} of {self.group!r}>"

    def subscribe(self, topic: str, expression: str | None = "*") -> None:
        """Subscribe to a topic, at once if it has been started. `UserError` for an expression that selects by tag."""
        if expression not in ALL:
            raise UserError(f"{topic}: expression {expression!r} selects by tags, which are not modelled; expected '*'")
        self._topics.append(topic)
        if self._node is not None:
            self.group.happen(subscribe={self.member: list(dict.fromkeys(self._topics))})

    def unsubscribe(self, topic: str) -> None:
        """Subscribe to a topic no more."""
        self._topics = [each for each in self._topics if each != topic]
        if self._node is not None:
            self.group.happen(subscribe={self.member: list(dict.fromkeys(self._topics))})

    def register_message_listener(self, listener: Listener) -> None:
        """Who gets the records: a list of `MessageExt`, of ``consume_message_batch_max_size`` at most. `UserError`
        after start(): Java's client (5.5.0) takes another listener there and never calls it."""
        self._refuse_after_start("another listener")
        self._listener = listener

    def set_consume_message_batch_max_size(self, size: int) -> None:
        """How many records the listener gets at once."""
        self._set("consumeMessageBatchMaxSize", size)

    def set_max_reconsume_times(self, times: int) -> None:
        """How often a record comes again before it goes to the dead letters. If nobody says otherwise (-1) 16 times, to
        an orderly listener for ever."""
        self._set("maxReconsumeTimes", times)

    def set_suspend_current_queue_time_millis(self, milliseconds: float) -> None:
        """How long a queue waits whose records an orderly listener could not handle: 1000 if nobody says otherwise."""
        self._set("suspendCurrentQueueTimeMillis", milliseconds)

    def _set(self, setting: str, value: object) -> None:
        self._refuse_after_start(setting)
        self._settings[setting] = value

    def _refuse_after_start(self, what: str) -> None:
        if self._node is not None:
            raise UserError(f"{self.member}: {what} after start(), expected before it")

    def start(self) -> None:
        """Join the group; from now on the listener is called while time passes. `UserError` without a listener, and a
        second time: no consumer starts again, even after shutdown() (Java's 5.5.0 says "maybe started once")."""
        self._refuse_after_start("start()")
        if self._listener is None:
            raise UserError(f"{self.member}: start() without a listener, expected register_message_listener() before")
        if self.member in self._handling.interruptions.killed:
            raise Crashed(f"{self.member} was killed")
        key = MemberKey(self.group.name, self.member)
        self._cluster.members.by_hand.add(key)
        settings: Mapping[str, object] = {"settings": self._settings} if self._settings else {}
        self.group.happen(join=self.member, subscribe=list(dict.fromkeys(self._topics)), **settings)
        self._node = self._cluster.client(self._place)
        self.group.world.servants.append(self._serve)

    def shutdown(self) -> None:
        """Leave the group properly; the second time nothing happens. Records that the listener has not got are left to
        others, and so is that with which it succeeds after this. `UserError` in the consumer's own orderly listener:
        Java's client (5.5.0) interrupts itself there and keeps its locks, so that nobody reads its queues for a
        minute."""
        if self._serving and self._settings.get("orderly"):
            refusal = UserError(
                f"{self.member}: shutdown() in its own orderly listener keeps the locks of its queues for a minute,"
                " which is not modelled, expected it in another thread or after the listener has returned"
            )
            self._handling.caught(refusal)
            raise refusal
        if self._node is not None and self.is_alive and not self._closed:
            self._closed = True
            self.group.happen(leave=self.member)

    @property
    def is_alive(self) -> bool:
        if self._node is None:
            return True
        process = self.group.world.simulation.processes.get(self._place)
        return process is not None and process.node is self._node

    def wake(self) -> None:
        """Nothing waits here: a listener of a stopped process is called once it goes on."""

    # What the world calls after every step.

    def _serve(self) -> bool:
        """Call the listener for what waits for it; whether there was anything."""
        node = self._node
        if node is None or self._serving or not self.is_alive or self._stands_still():
            return False
        consumer = node.instance.consumers.get(self.group.name)
        if consumer is None or not consumer.pool.running or consumer.pool.standing_still:
            return False
        serial, work = next(iter(consumer.pool.running.items()))
        self._serving = True
        try:
            self._consume(serial, work)
        finally:
            self._serving = False
        return True

    def _stands_still(self) -> bool:
        return self.group.world.simulation.processes[self._place].hung

    def _consume(self, serial: int, work: Work) -> None:
        queue, offsets = work.batch.queue, range(work.batch.first, work.batch.end)
        records = [self._record(queue, offset) for offset in offsets]
        messages = [
            self._message(queue, offset, record, work.since) for offset, record in zip(offsets, records, strict=True)
        ]
        assert self._listener is not None
        self.group.clock.keep_up(self.group.world.now)
        for origin, offset, _ in records:
            self._handling.gives(self.member, origin, offset)
        returned, status = self._handling.serve(self, self._listener, messages)
        success = returned and _is(status, _GOOD)
        if returned and not success and not _is(status, _LATER):
            later = _LATER["orderly" in self._settings].name
            self._handling.no_status.setdefault(self.member, NoStatus(self.group.world.now, repr(status), later))
        for origin, offset, _ in records:
            self._tried(origin, offset, success)
            if success:
                self._handling.acknowledged(self.member, origin, offset)
                self._handling.pending.discard((origin, offset))
            else:
                self._handling.pending.add((origin, offset))
        if self.is_alive:
            self.group.world.tell(self._place, ListenerReturned(self.group.name, serial, success))

    def _tried(self, queue: Queue, offset: int, success: bool) -> None:
        if success:
            self._tries.pop((queue, offset), None)
        elif "orderly" in self._settings:
            self._tries[queue, offset] = self._tries.get((queue, offset), 0) + 1

    def _record(self, queue: Queue, offset: int) -> tuple[Queue, int, int]:
        """Where a record was first, its offset there, and how often it was sent back."""
        broker = self._cluster.broker(queue.broker)
        stored = None if broker is None else broker.disk.store.queue(queue.topic, queue.number)
        if stored is not None and offset < len(stored.records):
            back: Retried = stored.records[offset]
            return back.origin, back.origin_offset, back.times
        return queue, offset, self._tries.get((queue, offset), 0)

    def _message(self, stored: Queue, stored_at: int, record: tuple[Queue, int, int], now: Time) -> MessageExt:
        queue, offset, times = record
        value, key, _, _ = self.group.records.content(queue, offset)
        return MessageExt(
            queue.topic,
            stored.broker,
            stored.number,
            stored_at,
            value or b"",
            (key or b"").decode(errors="replace"),
            f"{queue.topic}-{queue.broker}-{queue.number}-{offset}",
            times,
            int(now),
            (queue, offset),
        )

    @property
    def _cluster(self) -> RocketMQCluster:
        cluster = self.group.world.cluster
        assert isinstance(cluster, RocketMQCluster)
        return cluster

    @property
    def _place(self) -> str:
        return self._cluster.topology.node[MemberKey(self.group.name, self.member)]


def _is(status: object, among: Iterable[IntEnum]) -> bool:
    """Whether it is one of these, or its name or number; False is no 0 here."""
    return not isinstance(status, bool) and any(status in (each, each.name) for each in among)


__all__ = [
    "CONSUME_SUCCESS",
    "RECONSUME_LATER",
    "SUCCESS",
    "SUSPEND_CURRENT_QUEUE_A_MOMENT",
    "ConsumeConcurrentlyStatus",
    "ConsumeOrderlyStatus",
    "MessageExt",
    "PushConsumer",
]
