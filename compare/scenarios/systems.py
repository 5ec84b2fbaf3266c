"""The systems that can live through a scenario, and which variants a short name stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from protocols.errors import UserError
from protocols.scenario.cluster import MakeCluster
from protocols.scenario.systems import STATIC, split_system
from protocols.timeline import PER_BROKER, THROUGHOUT, Numbering


@dataclass(frozen=True, slots=True)
class System:
    """Where a system's cluster is, where the names of its members' settings (``member_settings``), and how it numbers
    queues. ``family``: the variants that its bare name stands for; empty: those that a scenario without ``systems`` has
    of it."""

    module: str
    cluster: str
    settings: str
    numbering: Numbering
    family: tuple[str, ...] = ()


SYSTEMS: Mapping[str, System] = {
    "kafka": System(
        "kafka_coordinator.cluster",
        "KafkaCluster",
        "kafka_coordinator.settings",
        THROUGHOUT,
        (
            "kafka:range",
            "kafka:roundrobin",
            "kafka:sticky",
            "kafka:cooperative-sticky",
            f"kafka:range{STATIC}",
            "kafka-zookeeper:range",
        ),
    ),
    "kafka-zookeeper": System(
        "kafka_coordinator.zookeeper.cluster",
        "ZooKeeperCluster",
        "kafka_coordinator.zookeeper.settings",
        THROUGHOUT,
        ("kafka-zookeeper:range", "kafka-zookeeper:roundrobin"),
    ),
    "rocketmq": System("rocketmq_selfbalance.cluster", "RocketMQCluster", "rocketmq_selfbalance.members", PER_BROKER),
}
"""System to where it is. Modules are imported when they are needed."""


@cache
def registered(system: str) -> bool:
    """Whether there is such a system, and all of it is installed."""
    if system not in SYSTEMS:
        return False
    try:
        import_module(SYSTEMS[system].module)
    except ModuleNotFoundError:
        return False
    return True


def system_of(name: str) -> System:
    """The system of ``kafka:range``; `UserError` where there is none."""
    system, _ = split_system(name)
    if not registered(system):
        there = ", ".join(each for each in SYSTEMS if registered(each)) or "none"
        raise UserError(f"{name}: no system {system!r} that can live through a scenario, expected one of {there}")
    return SYSTEMS[system]


def cluster_of(name: str) -> MakeCluster:
    """What makes the cluster of ``kafka:range``; `UserError` where there is none."""
    found = system_of(name)
    make: MakeCluster = getattr(import_module(found.module), found.cluster)
    return make


def member_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system that is there) knows as settings of a single member."""
    of = [each for each in SYSTEMS if registered(each)] if name is None else [split_system(name)[0]]
    return frozenset().union(*(import_module(SYSTEMS[each].settings).member_settings() for each in of))


def known_strategies() -> dict[str, tuple[str, ...]]:
    """System to the strategies that users registered, which a scenario may name beside those it always has."""
    from kafka_coordinator.assign import STRATEGIES as KAFKA
    from rocketmq_selfbalance.registry import STRATEGIES as ROCKETMQ

    return {"kafka": tuple(KAFKA), "rocketmq": tuple(ROCKETMQ)}
