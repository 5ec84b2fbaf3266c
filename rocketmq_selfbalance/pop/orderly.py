"""POP in order: a queue is blocked while records of its last batch are invisible (spec pop 5.6).

There are neither check points nor a retry topic: once the oldest record that nobody has acked is visible again, the
batch is given out again from there on. In RocketMQ ``ConsumerOrderInfoManager``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from protocols.engine.nodes import Time
from protocols.node_state import NodeState

ILLEGAL, IGNORED = -1, -2
"""Answers to an ack: of an offset that was not given out; of a batch that is not the last one."""

Key: TypeAlias = int | tuple[str, str, int]
"""What tells a queue of a group from others: its number, or topic, group and number."""


@dataclass(slots=True)
class OrderedBatch(NodeState):
    """``OrderInfo``: what was given out of one queue last."""

    pop_time: Time
    invisible: Time
    """0 where the first who asks afterwards is to say it."""
    offsets: tuple[int, ...]
    attempt_id: str | None
    tries: dict[int, int] | None
    """Offset to how often it was given out before; new ones are left out. None for the queue's first batch."""
    acked: set[int] = field(default_factory=set)
    visible_at: dict[int, Time] = field(default_factory=dict)
    """Offset to when it is visible again, where that was changed."""

    def first_left(self) -> int | None:
        return next((offset for offset in self.offsets if offset not in self.acked), None)

    def free_at(self) -> Time | None:
        """When the last record that is left is visible again; None where none is left."""
        usual = self.pop_time + self.invisible
        left = [self.visible_at.get(offset, usual) for offset in self.offsets if offset not in self.acked]
        return max(left, default=None)

    def is_blocked(self, now: Time) -> bool:
        """Whether any record that is left is invisible."""
        usual = self.pop_time + self.invisible
        return any(now < self.visible_at.get(offset, usual) for offset in self.offsets if offset not in self.acked)


@dataclass(slots=True)
class OrderedQueues(NodeState):
    """The queues of groups that are served in order."""

    batches: dict[Key, OrderedBatch] = field(default_factory=dict)

    def is_blocked(self, now: Time, key: Key, attempt_id: str | None, invisible: Time) -> bool:
        """Whether nothing of the queue may be given out; a request that is repeated gets its batch again."""
        batch = self.batches.get(key)
        if batch is None or (attempt_id is not None and attempt_id == batch.attempt_id):
            return False
        batch.invisible = batch.invisible or invisible
        return batch.is_blocked(now)

    def next_free(self, now: Time) -> Time | None:
        """When the next queue is free after now; None where none is blocked."""
        times = [batch.free_at() for batch in self.batches.values()]
        return min((at for at in times if at is not None and at > now), default=None)

    def give_out(
        self, now: Time, key: Key, offsets: Sequence[int], invisible: Time, attempt_id: str | None = None
    ) -> Mapping[int, int]:
        """These were given out. How often each that is not new was before."""
        before = self.batches.get(key)
        tries: dict[int, int] | None = None
        if before is not None:
            tries = dict(before.tries or {})
            if attempt_id is None or attempt_id != before.attempt_id:
                tries = {offset: tries.get(offset, 0) + 1 for offset in offsets if offset in before.offsets}
        self.batches[key] = OrderedBatch(now, invisible, tuple(offsets), attempt_id, tries)
        return tries or {}

    def ack(self, key: Key, offset: int, pop_time: Time) -> int:
        """The record is done: the offset to commit, `ILLEGAL` or `IGNORED`."""
        batch = self.batches.get(key)
        if batch is None:
            return offset + 1
        if batch.pop_time != pop_time:
            return IGNORED
        if offset not in batch.offsets:
            return ILLEGAL
        batch.acked.add(offset)
        left = batch.first_left()
        return batch.offsets[-1] + 1 if left is None else left

    def change(self, key: Key, offset: int, pop_time: Time, visible_at: Time) -> None:
        """The record is visible again at another time; nothing happens with a batch that is not the last one."""
        batch = self.batches.get(key)
        if batch is not None and batch.pop_time == pop_time:
            batch.visible_at[offset] = visible_at

    def clear(self, key: Key) -> None:
        self.batches.pop(key, None)
