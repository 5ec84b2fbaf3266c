"""A member that takes messages by POP: it has no part in sharing queues; whoever calls it asks the broker itself."""

from typing import NamedTuple

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState


class WakeAt(NamedTuple):
    """A command to the member: something may be due then."""

    time: Time


class PopMember(NodeState):
    """The process of a client of the 5.x line. Whoever calls it does what is to be done when it wakes; it lives, hangs
    and is killed."""

    __slots__ = ()

    def start(self, now: Time, out: Outbox) -> None:
        """The process starts."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        """Only commands come."""
        if isinstance(message, WakeAt):
            out.set_timer("wake", max(now, message.time))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """The time has come."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""
