"""What the rebalance thread remembers (``RebalanceService``), and what is told of its passes. What it does is in
`rebalance_service`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import RebalanceBegan, RebalanceEnded
from protocols.node_state import NodeState

if TYPE_CHECKING:
    from rocketmq_selfbalance.client.consumer import Consumer

PERIODIC = "periodic"
"""The trigger of a pass that nothing but the time caused."""


class WakeUp(NamedTuple):
    """Wake the rebalance thread; ``why`` says what for."""

    why: str


@dataclass(slots=True, eq=False)
class RebalanceService(NodeState):
    """``last``: the end of the last pass. A wake-up sets ``notified``; several are one."""

    last: Time = 0.0
    notified: bool = False
    waits_until: Time | None = None
    """The end of the least interval that was waited out last."""
    in_pass: bool = False
    triggers: list[str] = field(default_factory=list)
    """Why the thread was woken since the last pass began."""
    trigger: str = PERIODIC
    """Why the pass that is under way began."""
    rejoining: dict[str, bool] = field(default_factory=dict)
    """Peers whose connections had ended when the process went on after it hung: whether there is a new one, of
    which is to be told after the pass under way."""
    told: dict[str, str] = field(default_factory=dict)
    """Group to the member of whom the observer knows that it rebalances in this pass."""
    changed: set[str] = field(default_factory=set)
    """Groups whose queues have changed in this pass."""

    def begin(self, consumer: "Consumer", out: Outbox) -> None:
        """The consumer's part of the pass is worth telling."""
        if self.in_pass and consumer.group not in self.told:
            self.told[consumer.group] = consumer.member
            out.observe(RebalanceBegan(consumer.group, self.trigger, None, None, consumer.member))

    def tell_end(self, out: Outbox) -> None:
        """The pass is over."""
        for group, member in self.told.items():
            out.observe(RebalanceEnded(group, None, group in self.changed, member))
        self.told.clear()
        self.changed.clear()
