"""The catalogue of RocketMQ's strategies: a record for each, from which everything else that lists them is made.

To add one: a file in `rocketmq_selfbalance.strategies`, and a record here.
"""

from protocols.strategies import StrategyRecord, never
from rocketmq_selfbalance.strategies import AVG as AVG_NAME
from rocketmq_selfbalance.strategies import (
    AVG_BY_CIRCLE,
    CONSISTENT_HASH,
    averagely,
    consistent_hash,
    load_aware,
    machine_room,
)
from rocketmq_selfbalance.strategies.averagely import SETTING, Averagely, AveragelyByCircle, ByConfig
from rocketmq_selfbalance.strategies.consistent_hash import ConsistentHash, md5_hash, queue_text, ring_of
from rocketmq_selfbalance.strategies.interface import AllocationError, Make, PositionStrategy, Strategy, same
from rocketmq_selfbalance.strategies.machine_room import (
    MACHINE_ROOM_NEARBY,
    ByMachineRoom,
    MachineRoomNearby,
    MachineRoomResolver,
)
from rocketmq_selfbalance.strategies.machine_room import SETTING as MACHINE_ROOM_SETTING

CLIENTS = "clients"
"""The protocol: every client computes its own share of a topic, and nobody makes the shares fit together."""

AVG: StrategyRecord[Make] = StrategyRecord(
    Averagely.name,
    lambda settings, group: same(Averagely()),
    "Allocates blocks of consecutive queues of each topic to the sorted members.",
    CLIENTS,
    java_class="AllocateMessageQueueAveragely",
    sharing="per topic",
)

_PICKING: tuple[StrategyRecord[Make], ...] = (
    AVG,
    StrategyRecord(
        AveragelyByCircle.name,
        lambda settings, group: same(AveragelyByCircle()),
        "Allocates the queues of each topic in turn to the sorted members.",
        CLIENTS,
        java_class="AllocateMessageQueueAveragelyByCircle",
        sharing="per topic",
    ),
    StrategyRecord(
        ConsistentHash.name,
        consistent_hash.make,
        "Allocates each queue to the next member on a hash ring, so that few queues move when a member joins or"
        " leaves.",
        CLIENTS,
        java_class="AllocateMessageQueueConsistentHash",
        settings=consistent_hash.SETTINGS,
    ),
)
"""Those that need nothing but queues and members."""

_CONFIG: StrategyRecord[Make] = StrategyRecord(
    ByConfig.name,
    averagely.make_configured,
    "Allocates to each member the queues that its own configuration lists.",
    CLIENTS,
    java_class="AllocateMessageQueueByConfig",
    settings=(SETTING,),
    needs="the setting message_queue_list of at least one member",
    by_default=averagely.config_by_default,
)

_MACHINE_ROOM: StrategyRecord[Make] = StrategyRecord(
    ByMachineRoom.name,
    machine_room.make,
    "Allocates the queues of the configured rooms in blocks to the sorted members; queues of other rooms have no"
    " owner.",
    CLIENTS,
    java_class="AllocateMessageQueueByMachineRoom",
    settings=(MACHINE_ROOM_SETTING,),
    needs="a rack for every member, and broker names of the form room@broker",
    by_default=machine_room.rooms_by_default,
)

_INNER = (*_PICKING, _MACHINE_ROOM)
"""Those that may split the queues of one room."""

CATALOGUE: tuple[StrategyRecord[Make], ...] = (
    *_PICKING,
    _CONFIG,
    _MACHINE_ROOM,
    StrategyRecord(
        MACHINE_ROOM_NEARBY,
        machine_room.make_around({record.name: record.implementation for record in _INNER}, AVG.name),
        "Allocates each room's queues to the room's members by another strategy; all members share the rooms"
        " without members.",
        CLIENTS,
        java_class="AllocateMachineRoomNearby",
        settings=(*machine_room.SETTINGS, *dict.fromkeys(setting for record in _INNER for setting in record.settings)),
        needs="a rack for every member, and broker names of the form room-broker",
        by_default=machine_room.nearby_by_default,
    ),
)
"""In the order in which results list them."""

OWN: tuple[StrategyRecord[Make], ...] = (
    StrategyRecord(
        load_aware.LoadAware.name,
        load_aware.make,
        "Evens out the records per second that a table, the same in all clients, tells of each topic's queues.",
        CLIENTS,
        java_class="AllocateMessageQueueLoadAware",
        settings=(load_aware.SETTING,),
        by_default=never,
    ),
)
"""Strategies that no release of RocketMQ brings along: clients have to bring their own (`strategies.load_aware`)."""

POP = "POP"
"""The variant in which nobody owns a queue, and what its groups are to the catalogue."""

POP_GROUPS: StrategyRecord[None] = StrategyRecord(
    POP,
    None,
    "Gives records out one by one to clients of the 5.x line, through a proxy; nobody owns a queue.",
    POP,
    java_class="PopMessageProcessor",
    by_default=never,
)
"""What stands in place of a strategy where nobody owns a queue."""
