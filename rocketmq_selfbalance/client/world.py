"""What is around the parts of a client (`process_queue_table`, `pull_from_where`, `persisting`, `locks`, ...): they
work on a `Consumer` through steps of a thread, and do to the outside what this names. (A boundary of ours.)"""

from typing import Protocol

from protocols.engine.nodes import Outbox, Time
from protocols.queues import Queue
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.process_queue import ProcessQueue


class World(Protocol):
    """A client instance, or the surroundings in a player of traces. ``out``: the outbox of the event at hand."""

    def consumer(self, group: str) -> Consumer:
        """The consumer of this group."""

    def master(self, broker: str) -> str | None:
        """The address of the master of this name, None where the client knows none."""

    def replica(self, broker: str) -> str | None:
        """An address of this broker name, None where the client knows none."""

    def has_route(self, topic: str) -> bool:
        """Whether the client knows a broker of the topic whom it could ask for the members."""

    def commit(self, consumer: Consumer, queue: Queue, offset: int, address: str, out: Outbox) -> None:
        """Send a committed offset, one way."""

    def unlock(self, consumer: Consumer, queues: tuple[Queue, ...], address: str, out: Outbox) -> None:
        """Give locks back, one way."""

    def computed(self, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox) -> None:
        """The consumer has computed what it is to own of the topic, and is about to act on it."""

    def unlock_later(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        """Give the lock back, one way, after so many milliseconds."""

    def drop(self, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, why: str, out: Outbox) -> None:
        """Mark the queue as dropped: it is no more the consumer's. (Where it is marked already, nothing.)"""

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
        """Something happened in the life of the queue at this consumer (see `rocketmq_selfbalance.states`)."""

    def added(self, consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
        """The queue is the consumer's now; it will read from here."""

    def pull(self, now: Time, consumer: Consumer, queue: Queue, offset: int, delay: Time, out: Outbox) -> None:
        """Begin to pull the queue."""

    def listener(
        self,
        now: Time,
        consumer: Consumer,
        topic: str,
        all_queues: tuple[Queue, ...],
        own: tuple[Queue, ...],
        out: Outbox,
    ) -> None:
        """``messageQueueChanged``: the user's listener is called, or the lite pull consumer's own."""

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        """Wake the rebalance thread after so many milliseconds."""
