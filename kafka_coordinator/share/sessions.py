"""Share sessions at a broker: what each member fetches from it, and whose requests come in order (spec share 5).

In Kafka `ShareSession`, `ShareSessionCache` and `SharePartitionManager.newContext`.
"""

from dataclasses import dataclass, field

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import (
    INVALID_REQUEST,
    INVALID_SHARE_SESSION_EPOCH,
    NONE,
    SHARE_SESSION_LIMIT_REACHED,
    SHARE_SESSION_NOT_FOUND,
)
from kafka_coordinator.share.messages import FINAL_EPOCH, FIRST_EPOCH, ShareAcknowledge, ShareFetch
from protocols.node_state import NodeState

Key = tuple[str, str]
"""Group and member id."""

_GREATEST_EPOCH = 2**31 - 1


@dataclass(slots=True, eq=False)
class ShareSession(NodeState):
    """``peer``: the connection that it lives with; ``epoch``: that of its next request; ``partitions`` in the order in
    which they are fetched."""

    peer: str
    epoch: int
    partitions: dict[Partition, None]
    erring: set[Partition] = field(default_factory=set)
    """Partitions that were answered with an error: they are answered once more when it is over."""


@dataclass(slots=True, eq=False)
class ShareSessions(NodeState):
    """All sessions, and which of them ends with which connection: the one that was made last over it."""

    all: dict[Key, ShareSession] = field(default_factory=dict)
    of_peer: dict[str, tuple[Key, bool]] = field(default_factory=dict)
    """Peer to its newest session, and whether that is over already."""

    def open(self, request: ShareFetch, peer: str, most: int) -> str:
        """A fetch begins its session, goes on with it or ends it: NONE, or why not. ``most`` sessions there may be."""
        key = request.group, request.member_id
        if request.epoch == FINAL_EPOCH:
            return NONE if key in self.all else SHARE_SESSION_NOT_FOUND
        if request.epoch == FIRST_EPOCH:
            if request.acknowledged:
                return INVALID_REQUEST
            self.remove(key)
            if len(self.all) >= most:
                return SHARE_SESSION_LIMIT_REACHED
            self.all[key] = ShareSession(peer, 1, dict.fromkeys(request.added))
            self.of_peer[peer] = key, False
            return NONE
        session, error = self._next(key, request.epoch)
        if session is not None:
            session.partitions.update(dict.fromkeys(request.added))
            for partition in request.forgotten:
                session.partitions.pop(partition, None)
                session.erring.discard(partition)
        return error

    def acknowledging(self, request: ShareAcknowledge) -> str:
        """The same for a request that only acknowledges, which cannot begin a session."""
        key = request.group, request.member_id
        if request.epoch == FIRST_EPOCH:
            return INVALID_SHARE_SESSION_EPOCH
        if request.epoch == FINAL_EPOCH:
            return NONE if key in self.all else SHARE_SESSION_NOT_FOUND
        return self._next(key, request.epoch)[1]

    def _next(self, key: Key, epoch: int) -> tuple[ShareSession | None, str]:
        session = self.all.get(key)
        if session is None:
            return None, SHARE_SESSION_NOT_FOUND
        if session.epoch != epoch:
            return None, INVALID_SHARE_SESSION_EPOCH
        session.epoch = 1 if epoch == _GREATEST_EPOCH else epoch + 1
        return session, NONE

    def remove(self, key: Key) -> ShareSession | None:
        session = self.all.pop(key, None)
        if session is not None and session.peer in self.of_peer:
            self.of_peer[session.peer] = self.of_peer[session.peer][0], True
        return session

    def closed(self, peer: str) -> tuple[Key, bool] | None:
        """The connection is closed: the session that was made last over it, and whether it is over already."""
        return self.of_peer.pop(peer, None)

    def of_group(self, group: str) -> bool:
        """Whether the group has any."""
        return any(key[0] == group for key in self.all)
