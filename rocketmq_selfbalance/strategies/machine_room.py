"""Strategies that look at rooms. MACHINE_ROOM: only queues of chosen rooms, which the broker names carry as
``room@broker`` (spec 4.9). MACHINE_ROOM_NEARBY: members consume from their own room, rooms without members are shared
(spec 4.10)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, TypeVar

from protocols.groups import Group
from protocols.java import Queue, sorted_as_java
from protocols.strategies import ScenarioContext
from rocketmq_selfbalance.strategies import interface
from rocketmq_selfbalance.strategies.consistent_hash import queue_text

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
class ByMachineRoom(interface.PositionStrategy):
    """``AllocateMessageQueueByMachineRoom``. ``consumer_idcs``: the rooms to consume from, None where never set.

    Queues of other rooms go to nobody; where the members are plays no role.
    """

    name: ClassVar[str] = "MACHINE_ROOM"

    consumer_idcs: frozenset[str] | None = None

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> list[int]:
        given = interface.check(current_cid, mq_all, cid_all)
        return [] if given is None else share(self._kept(given.mq_all), len(given.cid_all), given.own_index)

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, list[int]]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        kept = self._kept(queues)
        return {cid: share(kept, len(cids), index) for cid, index in interface.first_indexes(cids).items()}

    def _kept(self, mq_all: Sequence[Queue]) -> list[int]:
        kept = []
        for position, queue in enumerate(mq_all):
            room = room_in(queue.broker)
            if room is None:
                continue
            if self.consumer_idcs is None:
                raise interface.AllocationError("NullPointerException")
            if room in self.consumer_idcs:
                kept.append(position)
        return kept


def rooms_by_default(context: ScenarioContext) -> interface.Settings | None:
    """It runs where some broker is in a room that some member is in; members consume from all of their rooms."""
    rooms = set(context.rooms)
    there = {broker.split("@")[0] for broker in context.brokers if broker.count("@") == 1}
    return {SETTING: list(context.rooms)} if rooms & there else None


def make(settings: interface.Settings, group: Group) -> interface.OfMember:
    """``consumer_idcs``: the names of the rooms to consume from."""
    rooms = settings.get(SETTING)
    if rooms is None:
        return interface.same(ByMachineRoom())
    listed = None if isinstance(rooms, str) or not isinstance(rooms, Iterable) else list(rooms)
    if listed is None or not all(isinstance(room, str) for room in listed):
        raise interface.wrong(SETTING, rooms, "a list of room names")
    return interface.same(ByMachineRoom(frozenset(listed)))


C = TypeVar("C")

SETTINGS = ("inner_strategy", "broker_rooms", "member_rooms")
"""Its own; those of the inner strategy come on top."""

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
class MachineRoomNearby(interface.PositionStrategy):
    """``AllocateMachineRoomNearby`` around an inner strategy, which splits the queues of one room.

    Raises `AllocationError` where one of the two is None, as its constructor does.
    """

    inner: interface.PositionStrategy
    resolver: MachineRoomResolver

    def __post_init__(self) -> None:
        for value, text in ((self.inner, "allocateMessageQueueStrategy"), (self.resolver, "machineRoomResolver")):
            if value is None:
                raise interface.AllocationError("NullPointerException", f"{text} is null")

    @property
    def name(self) -> str:
        return f"{MACHINE_ROOM_NEARBY}-{self.inner.name}"

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> list[int]:
        given = interface.check(current_cid, mq_all, cid_all)
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
            for position in self.inner.positions(current_cid, interface.queues_at(of_room, given.mq_all), members)
        ]

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, list[int]]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        rooms = self._rooms(queues, cids)
        shares: list[tuple[list[int], Sequence[str]]] = [
            (rooms.queues[room], members) for room, members in rooms.members.items() if room in rooms.queues
        ]
        shares += [(of_room, cids) for of_room in rooms.shared()]
        found: dict[str, list[int]] = {cid: [] for cid in interface.first_indexes(cids)}
        for of_room, members in shares:
            for cid, positions in self.inner.positions_of_all(interface.queues_at(of_room, queues), members).items():
                found[cid] += [of_room[position] for position in positions]
        return found

    def _rooms(self, mq_all: Sequence[Queue], cid_all: Sequence[str]) -> Rooms:
        rooms = Rooms({}, {})
        for position, queue in enumerate(mq_all):
            room = self.resolver.broker_deploy_in(queue)
            if not room:
                raise interface.illegal_argument(f"Machine room is null for mq {queue_text(queue)}")
            rooms.queues.setdefault(room, []).append(position)
        for cid in cid_all:
            room = self.resolver.consumer_deploy_in(cid)
            if not room:
                raise interface.illegal_argument(f"Machine room is null for consumer id {cid}")
            rooms.members.setdefault(room, []).append(cid)
        return rooms


def nearby_by_default(context: ScenarioContext) -> interface.Settings | None:
    """It runs where some broker is in a room that some member is in."""
    there = {broker.split("-")[0] for broker in context.brokers if "-" in broker}
    return {} if there & set(context.rooms) else None


def make_around(inner: Mapping[str, interface.Make], default: str) -> interface.Make:
    """What makes it from settings. ``inner``: the strategies that may split the queues of one room, by name.

    ``inner_strategy``: one of them (``default`` where left out) with its settings, or a strategy object.
    ``broker_rooms`` maps broker names to rooms, or is a function from a `Queue` to its room; ``member_rooms`` maps
    client ids to rooms, or is a function from a client id to its room. Without them (or, in a mapping, for what is not
    in it) a broker's room is its name up to the first ``-``, a member's its `Member.rack`, or else what follows the
    last ``-`` of its client id; a name without ``-`` has no room, and then the strategy fails, as the real one.
    """
    return partial(_make, inner, default)


def _make(
    known: Mapping[str, interface.Make], default: str, settings: interface.Settings, group: Group
) -> interface.OfMember:
    inner = settings.get("inner_strategy", default)
    if isinstance(inner, str) and inner in known:
        inner = known[inner](settings, group)("")
    if not isinstance(inner, interface.PositionStrategy):
        raise interface.wrong(
            "inner_strategy", inner, f"one of {', '.join(known)}, or a strategy object of such a class"
        )
    racks = {member.allocation_id: member.rack for member in reversed(group.members) if member.rack}
    resolver = MachineRoomResolver(
        _resolver("broker_rooms", settings, lambda queue: queue.broker, lambda queue: _before_dash(queue.broker)),
        _resolver("member_rooms", settings, lambda cid: cid, lambda cid: racks.get(cid) or _after_dash(cid)),
    )
    return interface.same(MachineRoomNearby(inner, resolver))


def _resolver(
    setting: str, settings: interface.Settings, key: Callable[[C], str], default: Callable[[C], str | None]
) -> Callable[[C], str | None]:
    given = settings.get(setting)
    if given is None:
        return default
    if callable(given):
        resolve: Callable[[C], str | None] = given
        return resolve
    if not isinstance(given, Mapping):
        raise interface.wrong(setting, given, "a mapping from names to rooms, or a function that gives the room")
    return lambda item: given[key(item)] if key(item) in given else default(item)


def _before_dash(text: str) -> str | None:
    room, dash, _ = text.partition("-")
    return room if dash else None


def _after_dash(text: str) -> str | None:
    _, dash, room = text.rpartition("-")
    return room if dash else None
