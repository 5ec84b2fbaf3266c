"""RocketMQ's allocation strategies (spec 4): one record each, with its settings."""

from rocketmq_selfbalance.strategies.averagely import Averagely, AveragelyByCircle, ByConfig
from rocketmq_selfbalance.strategies.consistent_hash import ConsistentHash
from rocketmq_selfbalance.strategies.interface import AllocationError, PositionStrategy, Strategy
from rocketmq_selfbalance.strategies.machine_room import ByMachineRoom, MachineRoomNearby, MachineRoomResolver

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
