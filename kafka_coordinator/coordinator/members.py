"""A member of a group as its coordinator knows it (spec 2.1).

In Kafka `ClassicGroupMember`; before 4.0 `MemberMetadata`.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kafka_coordinator.messages import Opaque
from protocols.node_state import NodeState, Shared

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


@dataclass(slots=True, init=False, eq=False)
class Member(NodeState):
    """One member; its id is the key under which its group holds it."""

    id: str
    instance_id: str | None
    client_id: str
    host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: Shared[Opaque]
    join: Parked | None
    sync: Parked | None
    is_new: bool
    """True until its first join has completed."""
    timer: tuple[str, str, str]
    """Name of its session timer."""

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
        self.join = None
        self.sync = None
        self.is_new = False
        self.timer = session_timer(group, member_id)

    def metadata(self, protocol: str | None) -> Opaque:
        """What it said for this protocol; empty bytes if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return NO_BYTES

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that is a candidate; one is, where the group's candidates are given."""
        return next(name for name, _ in self.protocols if name in candidates)


def session_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer that removes a member, or a pending id, unless it gives a sign of life."""
    return "session", group, member_id
