"""RocketMQ's allocation strategies (spec 4): one record each, with its settings."""

from rocketmq_selfbalance.strategies.averagely import Averagely
from rocketmq_selfbalance.strategies.averagely_by_circle import AveragelyByCircle
from rocketmq_selfbalance.strategies.by_config import ByConfig
from rocketmq_selfbalance.strategies.consistent_hash import ConsistentHash
from rocketmq_selfbalance.strategies.interface import AllocationError, PositionStrategy, Strategy
from rocketmq_selfbalance.strategies.machine_room import ByMachineRoom
from rocketmq_selfbalance.strategies.machine_room_nearby import (
    MACHINE_ROOM_NEARBY,
    MachineRoomNearby,
    MachineRoomResolver,
)

AVG = Averagely.name
AVG_BY_CIRCLE = AveragelyByCircle.name
CONSISTENT_HASH = ConsistentHash.name
CONFIG = ByConfig.name
MACHINE_ROOM = ByMachineRoom.name

__all__ = [
    "AVG",
    "AVG_BY_CIRCLE",
    "CONFIG",
    "CONSISTENT_HASH",
    "MACHINE_ROOM",
    "MACHINE_ROOM_NEARBY",
    "AllocationError",
    "Averagely",
    "AveragelyByCircle",
    "ByConfig",
    "ByMachineRoom",
    "ConsistentHash",
    "MachineRoomNearby",
    "MachineRoomResolver",
    "PositionStrategy",
    "Strategy",
]
