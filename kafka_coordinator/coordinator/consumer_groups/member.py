"""A member of a group of the consumer protocol as its coordinator knows it (spec 6.2).

In Kafka `ConsumerGroupMember`.

The facts about epochs that the coordinator lets the observer see (`protocols.facts.Epoch`).
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.reconciliation import JOINING, Standing
from kafka_coordinator.coordinator.members import Protocols
from kafka_coordinator.messages import LEAVES_FOR_A_WHILE
from protocols.engine.nodes import Outbox
from protocols.facts import Epoch
from protocols.load import quickly_made
from protocols.node_state import NodeState


class ClassicPart(NamedTuple):
    """What only a member has that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: Protocols


class Profile(NamedTuple):
    """What a member has told about itself."""

    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    host: str = ""
    topics: tuple[str, ...] = ()
    """Subscribed by name; sorted, without repetitions."""
    regex: str = ""
    """Subscribed by pattern; empty: none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicPart | None = None
    """None for a member that speaks the consumer protocol."""


@dataclass(slots=True, eq=False)
class ConsumerMember(NodeState):
    """One member: its profile and where it stands. Both are replaced whole, never changed."""

    id: str
    profile: Profile
    standing: Standing = JOINING
    must_rejoin: bool = False
    """Whether a classic member has been told to join again, and has not yet."""
    revoking_at: int | None = None
    """The epoch at which its time to give partitions up began last."""

    @property
    def called(self) -> str:
        """What a story calls it: its client id, and behind it the member id, which tells nobody who it is."""
        return f"{self.profile.client_id} ({self.id})" if self.profile.client_id else self.id

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left for a while."""
        return self.standing.epoch == LEAVES_FOR_A_WHILE


_epoch = quickly_made(Epoch)

Epochs = tuple[int, int]
"""Group epoch and assignment epoch."""


def observe_epochs(group_id: str, told: Epochs, epochs: Epochs, out: Outbox) -> Epochs:
    """Tell which of a group's epochs are others than those that were ``told``; returns those that are told now."""
    for name, before, value in zip((states.GROUP_EPOCH, states.ASSIGNMENT_EPOCH), told, epochs, strict=True):
        if value != before:
            out.observe(Epoch(group_id, states.GROUP.name, group_id, name, value))
    return epochs


def observe_member_epoch(group_id: str, member: ConsumerMember, out: Outbox) -> None:
    """The member has this epoch from now on."""
    out.observe(_epoch((group_id, states.MEMBER.name, member.called, states.MEMBER_EPOCH, member.standing.epoch)))
