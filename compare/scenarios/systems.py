"""The systems that can live through a scenario, and which variants a short name stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from protocols.errors import UserError
from protocols.named_modules import module_named
from protocols.scenario.cluster import MakeCluster
from protocols.scenario.systems import STATIC, SystemStrategies, split_system
from protocols.timeline import PER_BROKER, THROUGHOUT, Numbering


@dataclass(frozen=True, slots=True)
class System:
    """Where a system's cluster is, where the names of its members' and groups' settings (``member_settings``,
    ``group_settings``) and its strategies (a registry, or a mapping to records), and how it numbers queues. ``also``:
    variants for which its bare name stands besides those that a scenario without ``systems`` has of it.
    ``static_members``: whether members can be static."""

    module: str
    cluster: str
    settings: str
    strategies: str
    numbering: Numbering
    also: tuple[str, ...] = ()
    static_members: bool = False


SYSTEMS: Mapping[str, System] = {
    "kafka": System(
        "kafka_coordinator.cluster",
        "KafkaCluster",
        "kafka_coordinator.settings",
        "kafka_coordinator.assign",
        THROUGHOUT,
        also=(f"kafka:range{STATIC}", "kafka-zookeeper:range"),
        static_members=True,
    ),
    "kafka-zookeeper": System(
        "kafka_coordinator.zookeeper.cluster",
        "ZooKeeperCluster",
        "kafka_coordinator.zookeeper.settings",
        "kafka_coordinator.zookeeper.catalogue",
        THROUGHOUT,
    ),
    "rocketmq": System(
        "rocketmq_selfbalance.cluster",
        "RocketMQCluster",
        "rocketmq_selfbalance.members",
        "rocketmq_selfbalance.registry",
        PER_BROKER,
    ),
}
"""System to where it is. Modules are imported when they are needed."""


@cache
def registered(system: str) -> bool:
    """Whether there is such a system, and all of it is installed."""
    if system not in SYSTEMS:
        return False
    try:
        module_named(SYSTEMS[system].module)
    except ModuleNotFoundError:
        return False
    return True


def system_of(name: str) -> System:
    """The system of ``kafka:range``; `UserError` where there is none."""
    system, _ = split_system(name)
    if not registered(system):
        there = ", ".join(each for each in SYSTEMS if registered(each)) or "none"
        raise UserError(f"{name}: no system {system!r} can run a scenario, expected one of {there}")
    return SYSTEMS[system]


def cluster_of(name: str) -> MakeCluster:
    """What makes the cluster of ``kafka:range``; `UserError` where there is none."""
    found = system_of(name)
    make: MakeCluster = getattr(module_named(found.module), found.cluster)
    return make


def member_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system that is there) knows as settings of a single member."""
    of = [each for each in SYSTEMS if registered(each)] if name is None else [split_system(name)[0]]
    return frozenset().union(*(module_named(SYSTEMS[each].settings).member_settings() for each in of))


def group_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system that is there) knows as settings of a group."""
    of = [each for each in SYSTEMS if registered(each)] if name is None else [split_system(name)[0]]
    return frozenset().union(*(module_named(SYSTEMS[each].settings).group_settings() for each in of))


def variant_names() -> tuple[str, ...]:
    """Every installed system with each strategy of its catalogue: ``kafka:range`` and so on."""
    return tuple(
        f"{name}:{strategy}"
        for name, system in SYSTEMS.items()
        if registered(name)
        for strategy in module_named(system.strategies).STRATEGIES.of_catalogue
    )


def known_strategies() -> dict[str, SystemStrategies]:
    """The systems that are installed with their strategies: those of the catalogues and those that users registered."""
    found = {}
    for name, system in SYSTEMS.items():
        if registered(name):
            strategies = module_named(system.strategies).STRATEGIES
            records = tuple(strategies[each] for each in strategies)
            found[name] = SystemStrategies(records, system.static_members)
    return found
