"""A broker's locks on queues, for consumers that work in order: RocketMQ's ``RebalanceLockManager`` (spec 2.9). In
memory only."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
from protocols.queues import Queue


class Lock(NamedTuple):
    """Who holds a queue, and when it last said so."""

    client_id: str
    renewed: Time


@dataclass(slots=True, eq=False)
class RebalanceLockManager(NodeState):
    """Group to queue to lock. A lock that was not renewed for longer than ``max_live_ms`` may be taken by anybody."""

    max_live_ms: Time
    table: dict[str, dict[Queue, Lock]] = field(default_factory=dict)

    def try_lock(self, now: Time, group: str, queue: Queue, client_id: str) -> bool:
        """Take or renew the lock of a queue; whether the client holds it now."""
        locks = self.table.setdefault(group, {})
        held = locks.get(queue)
        if held is not None and held.client_id != client_id and not self._expired(now, held):
            return False
        locks[queue] = Lock(client_id, now)
        return True

    def try_lock_batch(self, now: Time, group: str, queues: Iterable[Queue], client_id: str) -> tuple[Queue, ...]:
        """Those of the queues that the client holds now, in the order given."""
        return tuple(queue for queue in queues if self.try_lock(now, group, queue, client_id))

    def unlock_batch(self, group: str, queues: Iterable[Queue], client_id: str) -> None:
        """Give up the client's own locks on these queues; those of others stay."""
        locks = self.table.get(group)
        if locks is None:
            return
        for queue in queues:
            held = locks.get(queue)
            if held is not None and held.client_id == client_id:
                del locks[queue]

    def all_expired(self, now: Time, group: str) -> bool:
        """Whether nobody holds any queue of the group (true also where nobody ever did)."""
        return all(self._expired(now, held) for held in self.table.get(group, {}).values())

    def _expired(self, now: Time, held: Lock) -> bool:
        return now - held.renewed > self.max_live_ms
