"""A member of a group of the consumer protocol as its coordinator knows it (spec 6.2).

In Kafka `ConsumerGroupMember`.
"""

from typing import NamedTuple

from kafka_coordinator.consumer_group_messages import LEAVES_FOR_A_WHILE
from kafka_coordinator.coordinator.consumer_groups.reconciliation import JOINING, Standing
from kafka_coordinator.coordinator.members import Protocols


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


class ConsumerMember:
    """One member: its profile and where it stands. Both are replaced whole, never changed."""

    __slots__ = ("id", "must_rejoin", "profile", "revoking_at", "standing")

    def __init__(self, member_id: str, profile: Profile = Profile(), standing: Standing = JOINING) -> None:  # noqa: B008
        self.id = member_id
        self.profile = profile
        self.standing = standing
        self.must_rejoin = False
        """Whether a classic member has been told to join again, and has not yet."""
        self.revoking_at: int | None = None
        """The epoch at which its time to give partitions up began last."""

    @property
    def called(self) -> str:
        """What a story calls it: its client id, and behind it the member id, which tells nobody who it is."""
        return f"{self.profile.client_id} ({self.id})" if self.profile.client_id else self.id

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left for a while."""
        return self.standing.epoch == LEAVES_FOR_A_WHILE

    def copy(self) -> "ConsumerMember":
        """An independent copy."""
        copied = ConsumerMember(self.id, self.profile, self.standing)
        copied.must_rejoin, copied.revoking_at = self.must_rejoin, self.revoking_at
        return copied

    def key(self) -> tuple[object, ...]:
        """The state as plain tuples."""
        epoch, previous, state, assigned, pending = self.standing
        return (
            self.id,
            self.profile,
            epoch,
            previous,
            state,
            tuple(sorted(assigned)),
            tuple(sorted(pending)),
            self.must_rejoin,
        )
