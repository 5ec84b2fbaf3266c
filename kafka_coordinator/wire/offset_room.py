"""Room for committed offsets at one broker, which keeps them in memory, where a real one has a disk.

Where there is no room for what a commit adds, groups without members expire before their time
(``offsets.retention.minutes``), the one that committed longest ago first, as `coordinator.describe.expire` lets them.

Why the room is counted here: a simulated coordinator has no such bound. Why commits alone are counted, and deletions
are not: `taken` is then never less than what there is, and all groups are counted anew only when it says that the room
is full, which is once in many commits as each time a sixteenth is freed.
"""

from dataclasses import dataclass

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.administration import delete_empty
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.core import Core, delete_group
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import ENTRY_COST, offset_cost
from kafka_coordinator.messages import OffsetCommit, TxnOffsetCommit
from protocols.engine.nodes import Outbox, Time

_FREED = 16
"""Such a part of the room is free after groups had to go."""


@dataclass(slots=True)
class OffsetRoom:
    """``taken``: bytes that the groups of a broker take at most; ``led``: the partitions of ``__consumer_offsets`` that
    it led and was loading when they were counted."""

    taken: int = 0
    led: object = None

    def make(
        self, core: Core, now: Time, request: OffsetCommit | TxnOffsetCommit, most_bytes: int, out: Outbox
    ) -> bool:
        """Whether there is room for what the request adds, once groups without members have gone for it."""
        more = _added(core, request)
        if more <= 0:
            return True
        led = core.leaders, tuple(core.loading)
        if led != self.led or self.taken + more > most_bytes:
            groups: list[Group | ConsumerGroup] = [*core.groups.values(), *core.consumer_groups.values()]
            self.led, self.taken = led, sum([_taken(group) for group in groups])
            if self.taken + more > most_bytes:
                self._free(core, now, request.group, most_bytes - most_bytes // _FREED - more, out)
        if self.taken + more > most_bytes:
            return False
        self.taken += more
        return True

    def _free(self, core: Core, now: Time, asking: str, most: int, out: Outbox) -> None:
        """Groups without members expire until the others take no more than this."""
        idle: list[Group | ConsumerGroup] = [each for each in core.groups.values() if each.state == states.EMPTY]
        idle += [each for each in core.consumer_groups.values() if not each.members]
        for group in sorted(idle, key=_last_commit):
            if self.taken <= most:
                return
            if group.id == asking or group.id in core.pending:
                continue
            self.taken -= _taken(group)
            if isinstance(group, Group):
                delete_group(core, group, states.EXPIRED, now, out)
            else:
                delete_empty(core, group, states.EXPIRED, out)


def _added(core: Core, request: OffsetCommit | TxnOffsetCommit) -> int:
    """Bytes that the request adds to what the broker keeps, if it is taken; less than 0: it makes room."""
    group = core.groups.get(request.group) or core.consumer_groups.get(request.group)
    if group is None and request.generation >= 0:
        return 0  # refused
    known = {} if group is None else group.offsets
    more = 0 if group is not None else _cost_of_group(request.group)
    for partition, _, text in request.offsets:
        before = known.get(partition)
        if before is None:
            more += offset_cost(request.group, partition, text)
        elif before.metadata != text:
            more += len(text.encode()) - len(before.metadata.encode())
    return more


def _taken(group: Group | ConsumerGroup) -> int:
    return _cost_of_group(group.id) + sum(
        [offset_cost(group.id, partition, committed.metadata) for partition, committed in group.offsets.items()]
    )


def _cost_of_group(group_id: str) -> int:
    return ENTRY_COST + len(group_id.encode())


def _last_commit(group: Group | ConsumerGroup) -> Time:
    return max([committed.committed_at for committed in group.offsets.values()], default=0.0)
