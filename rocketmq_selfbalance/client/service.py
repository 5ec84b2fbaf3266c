"""What the rebalance thread remembers (``RebalanceService``), and what is told of its passes. What it does is in
`rebalance_service`."""

from typing import TYPE_CHECKING, NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import RebalanceBegan, RebalanceEnded

if TYPE_CHECKING:
    from rocketmq_selfbalance.client.consumer import Consumer

PERIODIC = "periodic"
"""The trigger of a pass that nothing but the time caused."""


class WakeUp(NamedTuple):
    """Wake the rebalance thread; ``why`` says what for."""

    why: str


class RebalanceService:
    """``last``: the end of the last pass. A wake-up sets ``notified``; several are one."""

    __slots__ = (
        "changed",
        "in_pass",
        "last",
        "notified",
        "rejoining",
        "told",
        "trigger",
        "triggers",
        "waits_until",
    )

    def __init__(self) -> None:
        self.last: Time = 0.0
        self.notified = False
        self.waits_until: Time | None = None
        """The end of the least interval that was waited out last."""
        self.in_pass = False
        self.triggers: list[str] = []
        """Why the thread was woken since the last pass began."""
        self.trigger = PERIODIC
        """Why the pass that is under way began."""
        self.rejoining: dict[str, bool] = {}
        """Peers whose connections had ended when the process went on after it hung: whether there is a new one, of
        which is to be told after the pass under way."""
        self.told: dict[str, Consumer] = {}
        """Consumers of whom the observer knows that they rebalance in this pass."""
        self.changed: set[str] = set()
        """Groups whose queues have changed in this pass."""

    def begin(self, consumer: "Consumer", out: Outbox) -> None:
        """The consumer's part of the pass is worth telling."""
        if self.in_pass and consumer.group not in self.told:
            self.told[consumer.group] = consumer
            out.observe(RebalanceBegan(consumer.group, self.trigger, None, None, consumer.member))

    def tell_end(self, out: Outbox) -> None:
        """The pass is over."""
        for group, consumer in self.told.items():
            out.observe(RebalanceEnded(group, None, group in self.changed, consumer.member))
        self.told.clear()
        self.changed.clear()

    def copy(self) -> "RebalanceService":
        """An independent copy."""
        copy = RebalanceService()
        copy.last, copy.notified, copy.in_pass, copy.trigger = self.last, self.notified, self.in_pass, self.trigger
        copy.waits_until, copy.rejoining = self.waits_until, self.rejoining.copy()
        copy.triggers, copy.told, copy.changed = self.triggers.copy(), self.told.copy(), self.changed.copy()
        return copy

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now."""
        return now - self.last, self.notified, self.in_pass, tuple(self.rejoining.items())
