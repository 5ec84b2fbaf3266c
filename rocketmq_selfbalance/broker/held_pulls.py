"""A pull that a broker holds because its queue has nothing for it yet: a ``PullRequest`` in the table of RocketMQ's
``PullRequestHoldService`` (spec 6.3). What is done with it is in `pulls`."""

from typing import NamedTuple

from protocols.engine.nodes import Time, TimerName
from rocketmq_selfbalance.messages.pulling import PullMessage

HELD = "held pull"
"""First part of a timer's name; the others are the queue, the client and the number of its request."""


class HeldPull(NamedTuple):
    """A pull that waits."""

    sender: str
    message: PullMessage
    until: Time
    """When it is answered at the latest."""
    arrival: Time | None
    """When the record comes for which it asks; None where nobody knows."""

    @property
    def due(self) -> Time:
        """When it is answered, as far as is known."""
        return self.until if self.arrival is None else min(self.until, self.arrival)

    @property
    def timer(self) -> TimerName:
        """Its timer's name."""
        return HELD, self.message.queue, self.sender, self.message.correlation
