"""MACHINE_ROOM_NEARBY: members consume from their own room, rooms without members are shared (spec 4.10)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from protocols.java import sorted_as_java
from protocols.queues import Queue
from rocketmq_selfbalance.strategies.checks import AllocationError, check, check_lists, first_indexes, illegal_argument
from rocketmq_selfbalance.strategies.consistent_hash import queue_text
from rocketmq_selfbalance.strategies.interface import PositionStrategy, queues_at

MACHINE_ROOM_NEARBY = "MACHINE_ROOM_NEARBY"
"""The name by which users choose the strategy; its own name tells the inner strategy as well."""


@dataclass(frozen=True, slots=True)
class MachineRoomResolver:
    """Rooms of queues and of client ids; None or an empty text where there is none, which the strategy refuses."""

    broker_deploy_in: Callable[[Queue], str | None]
    consumer_deploy_in: Callable[[str], str | None]


class Rooms(NamedTuple):
    """Room to positions of its queues, and to its client ids, in the order given."""

    queues: dict[str, list[int]]
    members: dict[str, list[str]]

    def shared(self) -> Iterator[list[int]]:
        """Queues of each room without any member, rooms in Java's order of texts."""
        return (self.queues[room] for room in sorted_as_java(self.queues) if room not in self.members)


@dataclass(frozen=True, slots=True)
class MachineRoomNearby:
    """``AllocateMachineRoomNearby`` around an inner strategy, which splits the queues of one room.

    Raises `AllocationError` where one of the two is None, as its constructor does.
    """

    inner: PositionStrategy
    resolver: MachineRoomResolver

    def __post_init__(self) -> None:
        for value, text in ((self.inner, "allocateMessageQueueStrategy"), (self.resolver, "machineRoomResolver")):
            if value is None:
                raise AllocationError("NullPointerException", f"{text} is null")

    @property
    def name(self) -> str:
        """What ``getName()`` returns."""
        return f"{MACHINE_ROOM_NEARBY}-{self.inner.name}"

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
        if given is None:
            return []
        rooms = self._rooms(given.mq_all, given.cid_all)
        own = self.resolver.consumer_deploy_in(given.current_cid)
        shares: list[tuple[list[int], Sequence[str]]] = [(of_room, given.cid_all) for of_room in rooms.shared()]
        if own in rooms.queues:
            shares.insert(0, (rooms.queues[own], rooms.members[own]))
        return [
            of_room[position]
            for of_room, members in shares
            for position in self.inner.positions(current_cid, queues_at(of_room, given.mq_all), members)
        ]

    def positions_of_all(self, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> dict[str, list[int]]:
        """See `PositionStrategy.positions_of_all`."""
        queues, cids = check_lists(mq_all, cid_all)
        rooms = self._rooms(queues, cids)
        shares: list[tuple[list[int], Sequence[str]]] = [
            (rooms.queues[room], members) for room, members in rooms.members.items() if room in rooms.queues
        ]
        shares += [(of_room, cids) for of_room in rooms.shared()]
        found: dict[str, list[int]] = {cid: [] for cid in first_indexes(cids)}
        for of_room, members in shares:
            for cid, positions in self.inner.positions_of_all(queues_at(of_room, queues), members).items():
                found[cid] += [of_room[position] for position in positions]
        return found

    def _rooms(self, mq_all: Sequence[Queue], cid_all: Sequence[str]) -> Rooms:
        rooms = Rooms({}, {})
        for position, queue in enumerate(mq_all):
            room = self.resolver.broker_deploy_in(queue)
            if not room:
                raise illegal_argument(f"Machine room is null for mq {queue_text(queue)}")
            rooms.queues.setdefault(room, []).append(position)
        for cid in cid_all:
            room = self.resolver.consumer_deploy_in(cid)
            if not room:
                raise illegal_argument(f"Machine room is null for consumer id {cid}")
            rooms.members.setdefault(room, []).append(cid)
        return rooms
