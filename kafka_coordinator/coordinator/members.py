"""A member of a group as its coordinator knows it (spec 2.1).

In Kafka `ClassicGroupMember`; before 4.0 `MemberMetadata`.
"""

from typing import NamedTuple, TypeAlias

from kafka_coordinator.messages import Opaque

Protocols: TypeAlias = tuple[tuple[str, Opaque], ...]
"""Name and metadata, in order of preference."""

NO_BYTES = b""
"""An assignment that was never given."""


class Parked(NamedTuple):
    """A request that will be answered later: who sent it, under which number, over which of its connections."""

    sender: str
    correlation: int
    closes: int
    """How many connections with the sender had been closed when it came."""


class Member:
    """One member; its id is the key under which its group holds it."""

    __slots__ = (
        "assignment",
        "client_id",
        "host",
        "id",
        "instance_id",
        "is_new",
        "join",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
        "timer",
    )

    def __init__(
        self,
        group: str,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Protocols,
        assignment: Opaque = NO_BYTES,
    ) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.host = host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.join: Parked | None = None
        self.sync: Parked | None = None
        self.is_new = False
        """True until its first join has completed."""
        self.timer = session_timer(group, member_id)
        """Name of its session timer."""

    def metadata(self, protocol: str | None) -> Opaque:
        """What it said for this protocol; empty bytes if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return NO_BYTES

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that is a candidate; one is, where the group's candidates are given."""
        return next(name for name, _ in self.protocols if name in candidates)

    def copy(self) -> "Member":
        """An independent copy."""
        copied = Member.__new__(Member)
        for name in Member.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def key(self, alive: "AliveParked") -> tuple[object, ...]:
        """The state as plain tuples; ``alive`` says whether a parked request can still be answered."""
        return (
            self.id,
            self.instance_id,
            self.client_id,
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.protocols,
            self.assignment,
            self.join and alive(self.join),
            self.sync and alive(self.sync),
            self.is_new,
        )


class AliveParked(NamedTuple):
    """Sender and number of a parked request whose connection is open; nothing where it has been closed."""

    closes: dict[str, int]

    def __call__(self, parked: Parked) -> tuple[str, int] | tuple[()]:
        alive = self.closes.get(parked.sender, 0) == parked.closes
        return (parked.sender, parked.correlation) if alive else ()


def session_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer that removes a member, or a pending id, unless it gives a sign of life."""
    return "session", group, member_id
