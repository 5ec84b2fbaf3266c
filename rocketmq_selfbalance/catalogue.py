"""The catalogue of RocketMQ's strategies: a record for each, from which everything else that lists them is made.

To add one: a file in `rocketmq_selfbalance.strategies`, and a record here.
"""

from protocols.strategies import StrategyRecord
from rocketmq_selfbalance.strategies import AVG as AVG_NAME
from rocketmq_selfbalance.strategies import AVG_BY_CIRCLE as AVG_BY_CIRCLE
from rocketmq_selfbalance.strategies import CONSISTENT_HASH as CONSISTENT_HASH
from rocketmq_selfbalance.strategies import (
    averagely,
    averagely_by_circle,
    by_config,
    consistent_hash,
    machine_room,
    machine_room_nearby,
)
from rocketmq_selfbalance.strategies.averagely import Averagely as Averagely
from rocketmq_selfbalance.strategies.averagely_by_circle import AveragelyByCircle as AveragelyByCircle
from rocketmq_selfbalance.strategies.by_config import SETTING as SETTING
from rocketmq_selfbalance.strategies.by_config import ByConfig as ByConfig
from rocketmq_selfbalance.strategies.consistent_hash import ConsistentHash as ConsistentHash
from rocketmq_selfbalance.strategies.consistent_hash import md5_hash as md5_hash
from rocketmq_selfbalance.strategies.consistent_hash import queue_text as queue_text
from rocketmq_selfbalance.strategies.consistent_hash import ring_of as ring_of
from rocketmq_selfbalance.strategies.interface import AllocationError as AllocationError
from rocketmq_selfbalance.strategies.interface import Make
from rocketmq_selfbalance.strategies.interface import PositionStrategy as PositionStrategy
from rocketmq_selfbalance.strategies.interface import Strategy as Strategy
from rocketmq_selfbalance.strategies.machine_room import SETTING as MACHINE_ROOM_SETTING
from rocketmq_selfbalance.strategies.machine_room import ByMachineRoom as ByMachineRoom
from rocketmq_selfbalance.strategies.machine_room_nearby import MachineRoomNearby as MachineRoomNearby
from rocketmq_selfbalance.strategies.machine_room_nearby import MachineRoomResolver as MachineRoomResolver

CLIENTS = "clients"
"""The protocol: every client computes its own share of a topic, and nobody makes the shares fit together."""

AVG: StrategyRecord[Make] = StrategyRecord(
    averagely.Averagely.name,
    averagely.make,
    "Allocates blocks of consecutive queues of each topic to the sorted members.",
    CLIENTS,
    java_class="AllocateMessageQueueAveragely",
    sharing="per topic",
)

_PICKING: tuple[StrategyRecord[Make], ...] = (
    AVG,
    StrategyRecord(
        averagely_by_circle.AveragelyByCircle.name,
        averagely_by_circle.make,
        "Allocates the queues of each topic in turn to the sorted members.",
        CLIENTS,
        java_class="AllocateMessageQueueAveragelyByCircle",
        sharing="per topic",
    ),
    StrategyRecord(
        consistent_hash.ConsistentHash.name,
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
    by_config.ByConfig.name,
    by_config.make,
    "Allocates to each member the queues that its own configuration lists.",
    CLIENTS,
    java_class="AllocateMessageQueueByConfig",
    settings=(by_config.SETTING,),
    needs="the setting message_queue_list of at least one member",
    by_default=by_config.by_default,
)

_MACHINE_ROOM: StrategyRecord[Make] = StrategyRecord(
    machine_room.ByMachineRoom.name,
    machine_room.make,
    "Allocates the queues of the configured rooms in blocks to the sorted members; queues of other rooms have no"
    " owner.",
    CLIENTS,
    java_class="AllocateMessageQueueByMachineRoom",
    settings=(machine_room.SETTING,),
    needs="a rack for every member, and broker names of the form room@broker",
    by_default=machine_room.by_default,
)

_INNER = (*_PICKING, _MACHINE_ROOM)
"""Those that may split the queues of one room."""

CATALOGUE: tuple[StrategyRecord[Make], ...] = (
    *_PICKING,
    _CONFIG,
    _MACHINE_ROOM,
    StrategyRecord(
        machine_room_nearby.MACHINE_ROOM_NEARBY,
        machine_room_nearby.make_around({record.name: record.implementation for record in _INNER}, AVG.name),
        "Allocates each room's queues to the room's members by another strategy; all members share the rooms"
        " without members.",
        CLIENTS,
        java_class="AllocateMachineRoomNearby",
        settings=(
            *machine_room_nearby.SETTINGS,
            *dict.fromkeys(setting for record in _INNER for setting in record.settings),
        ),
        needs="a rack for every member, and broker names of the form room-broker",
        by_default=machine_room_nearby.by_default,
    ),
)
"""In the order in which results list them."""
