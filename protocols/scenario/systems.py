"""The systems that a scenario may name, and which of them live through it where it names none.

These are words of the file format only. What stands behind them is the systems' own matter; strategies that a user
registered are handed in by whoever reads the scenario.
"""

from collections.abc import Iterable, Mapping, Sequence

from protocols.scenario.groups import MemberPart
from protocols.scenario.model import SystemPart

SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "kafka": ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "uniform"),
    "kafka-zookeeper": ("range", "roundrobin"),
    "rocketmq": ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"),
}
"""System to its strategies."""

STATIC = "+static"
"""Behind an assignor of Kafka's name: every member is static (KIP-345)."""

_ALWAYS = (
    *("kafka:range", "kafka:roundrobin", "kafka:sticky", "kafka:cooperative-sticky"),
    *("rocketmq:AVG", "rocketmq:AVG_BY_CIRCLE", "rocketmq:CONSISTENT_HASH"),
)


def split_system(name: str) -> tuple[str, str]:
    """System and strategy of ``kafka:range``; the strategy is empty where there is none."""
    system, _, strategy = name.partition(":")
    return system, strategy


def default_systems(brokers: Iterable[str], members: Sequence[MemberPart]) -> tuple[SystemPart, ...]:
    """The four classic assignors of Kafka, and RocketMQ's six strategies as far as they are given what they need.

    CONFIG needs the setting ``message_queue_list`` of some member; MACHINE_ROOM and MACHINE_ROOM_NEARBY need a rack
    (RocketMQ says room) of every member and brokers whose names tell theirs: ``room@broker`` and ``room-broker``.
    """
    made = [SystemPart(system=name, label=name) for name in _ALWAYS]
    if any("message_queue_list" in member.settings for member in members):
        made.append(SystemPart(system="rocketmq:CONFIG", label="rocketmq:CONFIG"))
    rooms = _rooms(members)
    if rooms & {broker.split("@")[0] for broker in brokers if broker.count("@") == 1}:
        settings = {"consumer_idcs": sorted(rooms)}
        made.append(SystemPart(system="rocketmq:MACHINE_ROOM", label="rocketmq:MACHINE_ROOM", settings=settings))
    if rooms & {broker.split("-")[0] for broker in brokers if "-" in broker}:
        made.append(SystemPart(system="rocketmq:MACHINE_ROOM_NEARBY", label="rocketmq:MACHINE_ROOM_NEARBY"))
    return tuple(made)


def _rooms(members: Iterable[MemberPart]) -> set[str]:
    """The rooms of the members; empty where one has none."""
    racks = {member.rack for member in members}
    return set() if None in racks else {rack for rack in racks if rack}
