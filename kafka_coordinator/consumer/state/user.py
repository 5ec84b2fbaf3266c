"""The user's thread: what keeps it from poll(), and how it ends (in Kafka the thread that calls `ConsumerNetworkClient`
from `KafkaConsumer.poll` and `KafkaConsumer.close`)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from protocols.engine.nodes import Message, Time
from protocols.node_state import NodeState
from protocols.poison import StuckOn


class ListenerCall(NamedTuple):
    """The user's listener runs. ``then``: what the client does once it returns; empty: nothing."""

    kind: str
    partitions: tuple[Partition, ...]
    then: str
    assigned: tuple[Partition, ...] = ()
    """The new assignment, in the assignor's order, where that is what follows."""


@dataclass(slots=True)
class UserLoop(NodeState):
    """What keeps the user's loop from poll(), and what waits for it there."""

    away: bool
    """It stands still."""
    stuck: StuckOn[Partition] | None = None
    """The record that it stands still on, where one keeps it."""
    listener_call: ListenerCall | None = None
    """The user's listener that is being run, where that is the user's own."""
    deferred: list[tuple[Message, object]] = field(default_factory=list)
    """Answers for poll() that arrived while the loop was elsewhere, with what their requests were about."""
    frozen: bool = False
    """The process is stopped, or about to be."""
    resume_at: Time | None = None
    """It handles records until then."""
    polled_at: Time = -1.0
    """When it polled last after it had handled records: it does nothing else at that moment."""
    batch_end: Time = 0.0
    """When a poll that returns too much will have been handled."""
    fatal: str = ""
    """The error that the next poll() throws."""
    closing: str = ""
    """What close() waits for: ``commit``, ``leave``; empty: not closing."""
    closed: bool = False
