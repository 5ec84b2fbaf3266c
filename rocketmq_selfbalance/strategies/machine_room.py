"""MACHINE_ROOM: only queues of chosen rooms, which the broker names carry as ``room@broker`` (spec 4.9)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocols.groups import Group
from protocols.java import Queue
from protocols.strategies import ScenarioContext
from rocketmq_selfbalance.strategies.interface import (
    AllocationError,
    OfMember,
    Settings,
    check,
    check_lists,
    first_indexes,
    queues_at,
    same,
    wrong,
)

SETTING = "consumer_idcs"


def room_in(broker: str) -> str | None:
    """The room that a broker name of the form ``room@broker`` carries (it may be empty), None for other forms.

    Parts are counted as Java's ``split`` does, which drops empty ones at the end.
    """
    parts = broker.rstrip("@").split("@")
    return parts[0] if len(parts) == 2 else None


def share(kept: Sequence[int], members: int, index: int) -> list[int]:
    """What member number ``index`` takes of ``kept``: a block, and maybe one of the remainder at the end."""
    base, extra = divmod(len(kept), members)
    taken = list(kept[base * index : base * (index + 1)])
    if index < extra:
        taken.append(kept[base * members + index])
    return taken


@dataclass(frozen=True, slots=True)
class ByMachineRoom:
    """``AllocateMessageQueueByMachineRoom``. ``consumer_idcs``: the rooms to consume from, None where never set.

    Queues of other rooms go to nobody; where the members are plays no role.
    """

    name: ClassVar[str] = "MACHINE_ROOM"

    consumer_idcs: frozenset[str] | None = None

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[Queue]:
        """See `Strategy.allocate`."""
        return queues_at(self.positions(current_cid, mq_all, cid_all), mq_all)

    def positions(
        self, current_cid: str | None, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None
    ) -> list[int]:
        """See `PositionStrategy.positions`."""
        given = check(current_cid, mq_all, cid_all)
        return [] if given is None else share(self._kept(given.mq_all), len(given.cid_all), given.own_index)

    def positions_of_all(self, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> dict[str, list[int]]:
        """See `PositionStrategy.positions_of_all`."""
        queues, cids = check_lists(mq_all, cid_all)
        kept = self._kept(queues)
        return {cid: share(kept, len(cids), index) for cid, index in first_indexes(cids).items()}

    def _kept(self, mq_all: Sequence[Queue]) -> list[int]:
        kept = []
        for position, queue in enumerate(mq_all):
            room = room_in(queue.broker)
            if room is None:
                continue
            if self.consumer_idcs is None:
                raise AllocationError("NullPointerException")
            if room in self.consumer_idcs:
                kept.append(position)
        return kept


def by_default(context: ScenarioContext) -> Settings | None:
    """It runs where some broker is in a room that some member is in; members consume from all of their rooms."""
    rooms = set(context.rooms)
    there = {broker.split("@")[0] for broker in context.brokers if broker.count("@") == 1}
    return {SETTING: list(context.rooms)} if rooms & there else None


def make(settings: Settings, group: Group) -> OfMember:
    """``consumer_idcs``: the names of the rooms to consume from."""
    rooms = settings.get(SETTING)
    if rooms is None:
        return same(ByMachineRoom())
    listed = None if isinstance(rooms, str) or not isinstance(rooms, Iterable) else list(rooms)
    if listed is None or not all(isinstance(room, str) for room in listed):
        raise wrong(SETTING, rooms, "a list of room names")
    return same(ByMachineRoom(frozenset(listed)))
