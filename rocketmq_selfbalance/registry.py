"""From a strategy's name and settings, as users write them, to the strategy object of each member.

| strategy | settings |
|---|---|
| AVG, AVG_BY_CIRCLE | none |
| CONSISTENT_HASH | ``virtual_nodes`` (10), ``hash_function`` (text to whole number; RocketMQ's own by MD5) |
| CONFIG | ``message_queue_list``: queues, or member id to queues; a queue is (topic, broker, number) |
| MACHINE_ROOM | ``consumer_idcs``: names of rooms |
| MACHINE_ROOM_NEARBY | ``inner_strategy`` (AVG) with its settings, ``broker_rooms``, ``member_rooms`` |

``broker_rooms`` maps broker names to rooms, or is a function from a `Queue` to its room; ``member_rooms`` maps
client ids to rooms, or is a function from a client id to its room. Without them (or, in a mapping, for what is
not in it) a broker's room is its name up to the first ``-``, a member's its `Member.rack`, or else what follows
the last ``-`` of its client id; a name without ``-`` has no room, and then the strategy fails, as the real one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from protocols.errors import StrategyError
from protocols.groups import Group
from protocols.queues import Queue
from protocols.strategies import Registry
from rocketmq_selfbalance.custom import AllocateFunction, as_strategy, check_custom, made, setting_names
from rocketmq_selfbalance.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    AllocationError,
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    PositionStrategy,
    Strategy,
)

Settings: TypeAlias = Mapping[str, Any]

AnyStrategy: TypeAlias = str | Strategy | AllocateFunction
"""A strategy's name, a strategy object, or a user's function."""

OfMember: TypeAlias = Callable[[str], Strategy]
"""Member id to the strategy object that this member runs."""

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Kind:
    """What stands behind a strategy's name: the settings it knows, and how members' strategies are made of them."""

    settings: tuple[str, ...]
    make: Callable[[Settings, Group], OfMember]


STRATEGIES: Registry[Kind] = Registry("RocketMQ")
"""RocketMQ's strategies and those that users `register`."""


def register(name: str, strategy: C) -> C:
    """Make a strategy of one's own known to `allocate` under ``name``, and return it.

    It is a function ``(consumer_group, current_cid, mq_all, cid_all) -> queues``, as a RocketMQ client calls it
    for one topic with both lists sorted, or a class (or an object) with such a method ``allocate``. The
    parameters with which a class is made are its settings. Raises `StrategyError` for a name that is taken.
    """
    check_custom(name, strategy)
    known = setting_names(strategy)
    STRATEGIES.register(name, Kind(known, lambda settings, group: _same(made(name, strategy, _only(known, settings)))))
    return strategy


def strategies_of(
    group: Group, name: AnyStrategy, settings: Settings, others: Mapping[str, AnyStrategy]
) -> list[Strategy]:
    """The strategy object of each member, in the group's order; members with equal ones share it.

    ``others``: member id to the strategy of members that do not run ``name``. A strategy is a name, or an object
    (or a function) that has its settings already. Raises `StrategyError` for unknown names or settings,
    `GroupError` for members that the group lacks.
    """
    for member_id in others:
        group.member(member_id)
    chosen = [others.get(member.id, name) for member in group.members]
    names = list(dict.fromkeys(each for each in (name, *chosen) if isinstance(each, str)))
    known = dict.fromkeys(setting for each in names for setting in STRATEGIES[each].settings)
    for setting in settings:
        if setting not in known:
            expected = f"expected one of {', '.join(known)}" if known else "it has none"
            raise StrategyError(f"unknown setting {setting!r} of {', '.join(names) or 'a strategy object'}, {expected}")
    by_name = {each: STRATEGIES[each].make(settings, group) for each in names}
    unnamed = {id(each): each for each in chosen if not isinstance(each, str)}
    objects = {number: as_strategy(each) for number, each in unnamed.items()}
    return [
        by_name[each](member.id) if isinstance(each, str) else objects[id(each)]
        for member, each in zip(group.members, chosen, strict=True)
    ]


def _same(strategy: Strategy) -> OfMember:
    return lambda member: strategy


def _only(names: Iterable[str], settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def _wrong(setting: str, value: object, expected: str) -> StrategyError:
    return StrategyError(f"setting {setting} is {value!r}, expected {expected}")


def _consistent_hash(settings: Settings, group: Group) -> OfMember:
    virtual_nodes = settings.get("virtual_nodes", 10)
    if not isinstance(virtual_nodes, int) or isinstance(virtual_nodes, bool):
        raise _wrong("virtual_nodes", virtual_nodes, "a whole number, 0 or more")
    if not callable(settings.get("hash_function", hash)):
        raise _wrong("hash_function", settings["hash_function"], "a function from a text to a whole number")
    try:
        return _same(ConsistentHash(**_only(("virtual_nodes", "hash_function"), settings)))
    except AllocationError:
        raise _wrong("virtual_nodes", virtual_nodes, "a whole number, 0 or more") from None


def _by_config(settings: Settings, group: Group) -> OfMember:
    given = settings.get("message_queue_list")
    if not isinstance(given, Mapping):
        return _same(ByConfig(None if given is None else _queues(given)))
    for member_id in given:
        group.member(member_id)
    lists = {member_id: ByConfig(_queues(queues)) for member_id, queues in given.items()}
    return lambda member: lists.get(member, ByConfig())


def _queues(given: Any) -> tuple[Queue, ...]:
    wrong = partial(_wrong, "message_queue_list", expected="a list of (topic, broker, number), or member id to such")
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise wrong(given)
    queues = []
    for each in given:
        match each:
            case [str(topic), str(broker), int(number)]:
                queues.append(Queue(topic, broker, number))
            case _:
                raise wrong(each)
    return tuple(queues)


def _by_machine_room(settings: Settings, group: Group) -> OfMember:
    rooms = settings.get("consumer_idcs")
    if rooms is None:
        return _same(ByMachineRoom())
    listed = None if isinstance(rooms, str) or not isinstance(rooms, Iterable) else list(rooms)
    if listed is None or not all(isinstance(room, str) for room in listed):
        raise _wrong("consumer_idcs", rooms, "a list of room names")
    return _same(ByMachineRoom(frozenset(listed)))


_INNER = (AVG, AVG_BY_CIRCLE, CONSISTENT_HASH, MACHINE_ROOM)


def _machine_room_nearby(settings: Settings, group: Group) -> OfMember:
    inner = settings.get("inner_strategy", AVG)
    if isinstance(inner, str) and inner in _INNER:
        inner = STRATEGIES[inner].make(settings, group)("")
    if not isinstance(inner, PositionStrategy):
        raise _wrong("inner_strategy", inner, f"one of {', '.join(_INNER)}, or a strategy object of such a class")
    racks = {member.allocation_id: member.rack for member in reversed(group.members) if member.rack}
    resolver = MachineRoomResolver(
        _resolver("broker_rooms", settings, lambda queue: queue.broker, lambda queue: _before_dash(queue.broker)),
        _resolver("member_rooms", settings, lambda cid: cid, lambda cid: racks.get(cid) or _after_dash(cid)),
    )
    return _same(MachineRoomNearby(inner, resolver))


def _resolver(
    setting: str, settings: Settings, key: Callable[[C], str], default: Callable[[C], str | None]
) -> Callable[[C], str | None]:
    given = settings.get(setting)
    if given is None:
        return default
    if callable(given):
        resolve: Callable[[C], str | None] = given
        return resolve
    if not isinstance(given, Mapping):
        raise _wrong(setting, given, "a mapping from names to rooms, or a function that gives the room")
    return lambda item: given[key(item)] if key(item) in given else default(item)


def _before_dash(text: str) -> str | None:
    room, dash, _ = text.partition("-")
    return room if dash else None


def _after_dash(text: str) -> str | None:
    _, dash, room = text.rpartition("-")
    return room if dash else None


STRATEGIES.register(AVG, Kind((), lambda settings, group: _same(Averagely())))
STRATEGIES.register(AVG_BY_CIRCLE, Kind((), lambda settings, group: _same(AveragelyByCircle())))
STRATEGIES.register(CONSISTENT_HASH, Kind(("virtual_nodes", "hash_function"), _consistent_hash))
STRATEGIES.register(CONFIG, Kind(("message_queue_list",), _by_config))
STRATEGIES.register(MACHINE_ROOM, Kind(("consumer_idcs",), _by_machine_room))
STRATEGIES.register(
    MACHINE_ROOM_NEARBY,
    Kind(
        ("inner_strategy", "broker_rooms", "member_rooms", "virtual_nodes", "hash_function", "consumer_idcs"),
        _machine_room_nearby,
    ),
)
