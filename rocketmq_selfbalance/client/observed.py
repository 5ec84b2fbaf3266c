"""What the observer of a client was told last: what its consumers computed, believe to own, and do with each queue.

Nothing in RocketMQ corresponds to it, and nothing that the client does depends on it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from protocols.engine.nodes import Outbox
from protocols.facts import Granted, Owns, Transition
from protocols.java import Queue, sort_queues
from protocols.load import quickly_made
from protocols.node_state import NodeState
from rocketmq_selfbalance.client.consumer import Consumer, RebalanceService
from rocketmq_selfbalance.states import ABANDONED, ABSENT, LOCATING, LOCKING, PROCESS_QUEUE

_transition = quickly_made(Transition)


@dataclass(slots=True, eq=False)
class Observed(NodeState):
    """``life_of``: group and queue to the state of `PROCESS_QUEUE`, where it is not ``ABSENT``."""

    dirty: dict[str, None] = field(default_factory=dict)
    """Groups whose consumer's belief may have changed by the event at hand."""
    owned: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    granted: dict[str, dict[str, tuple[Queue, ...]]] = field(default_factory=dict)
    """Group to topic to the queues that the last pass computed."""
    life_of: dict[tuple[str, Queue], str] = field(default_factory=dict)

    def computed(
        self, service: RebalanceService, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox
    ) -> None:
        """The consumer is to own this of the topic, and is about to act on it."""
        granted = self.granted.setdefault(consumer.group, {})
        if granted.get(topic, ()) == target:
            return
        service.begin(consumer, out)
        granted[topic] = target
        _tell_granted(consumer, granted, out)

    def forget_granted(self, consumer: Consumer, topics: Collection[str], out: Outbox) -> None:
        """Only of these topics anything is computed any more."""
        granted = self.granted.get(consumer.group, {})
        gone = [topic for topic in granted if topic not in topics]
        for topic in gone:
            del granted[topic]
        if gone:
            _tell_granted(consumer, granted, out)

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
        """Something happened in the life of the queue at this consumer."""
        key = consumer.group, queue
        before = self.life_of.get(key, ABSENT)
        after = PROCESS_QUEUE.next_state(before, event, guard)
        if after == before:
            return
        if after == ABSENT:
            del self.life_of[key]
        else:
            self.life_of[key] = after
        of = f"{consumer.member} {queue.topic}-{queue.broker}-{queue.number}"
        out.observe(_transition((PROCESS_QUEUE.name, of, before, event, after)))

    def abandon(self, consumer: Consumer, out: Outbox) -> None:
        """Nobody goes on to lock and locate queues for this consumer."""
        for (group, queue), state in list(self.life_of.items()):
            if group == consumer.group and state in (LOCKING, LOCATING):
                self.life(consumer, queue, ABANDONED, out)

    def tell_owned(self, service: RebalanceService, consumers: Mapping[str, Consumer], out: Outbox) -> None:
        """Tell whose belief has changed by the event at hand."""
        for group in self.dirty:
            consumer = consumers.get(group)
            if consumer is None:
                continue
            queues = sort_queues(consumer.holds())
            if queues != self.owned.get(group, ()):
                self.owned[group] = queues
                service.begin(consumer, out)
                service.changed.add(group)
                out.observe(Owns(group, consumer.member, queues, None))
        self.dirty.clear()


def _tell_granted(consumer: Consumer, granted: Mapping[str, tuple[Queue, ...]], out: Outbox) -> None:
    queues = sort_queues({queue for target in granted.values() for queue in target})
    out.observe(Granted(consumer.group, consumer.member, queues, None))
