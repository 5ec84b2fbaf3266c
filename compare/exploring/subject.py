"""What is explored: one variant of a scenario, its world, and the properties that watch it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from compare.exploring import invariants
from compare.exploring.properties import FAIR, WATCHES, Ownership
from compare.running.systems import cluster_of, with_own_settings
from compare.running.variants import Variant
from protocols.engine.exploration import Bounds, NodeRules, Watch
from protocols.named_modules import module_named
from protocols.scenario.events import BrokerEvent, Network, Subscribe
from protocols.scenario.exploring import Settled, explored
from protocols.scenario.exploring_events import OF_TOPICS
from protocols.scenario.model import Scenario
from protocols.scenario.running import all_static
from protocols.scenario.systems import STATIC, split_system

RULES: Final = {
    "kafka": "kafka_coordinator.exploration",
    "kafka-zookeeper": "kafka_coordinator.zookeeper.exploration",
    "rocketmq": "rocketmq_selfbalance.exploration",
}
"""System to the module that tells the explorer of its nodes."""

NEWS: Final = (*OF_TOPICS, Network, Subscribe)
"""Events after which housekeeping finds something new; what it finds after the end of a broker, the rules know."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A settled world; ``names`` of its watches, in their order, the model's invariants always among
    them; one that is about what follows once nothing is late any more has none."""

    variant: Variant
    lived: Scenario
    """The scenario as the system sees it."""
    settled: Settled
    names: tuple[str, ...]


def subject_of(variant: Variant, names: Sequence[str], bounds: Bounds) -> Subject:
    """The world of a variant, with the watches of these properties. Raises `UserError` for a group that does not
    settle."""
    part = variant.part
    lived = with_own_settings(variant.scenario, part.system)
    if part.system.endswith(STATIC):
        lived = all_static(lived)
        part = part.model_copy(update={"system": part.system[: -len(STATIC)]})
    watched = [name for name in names if name in WATCHES]
    watches: list[Watch] = [WATCHES[name]() for name in watched]
    if invariants.NAME not in watched:
        watched.append(invariants.NAME)
        watches.append(invariants.NothingRaises())
    if any(name in FAIR for name in names):
        watches.append(Ownership())
    has_news = any(isinstance(event, NEWS) for event in lived.events)
    bounds = bounds._replace(housekeeping=bounds.housekeeping or has_news)
    brokers_end = any(isinstance(event, BrokerEvent) for event in lived.events)
    rules: NodeRules = module_named(RULES[split_system(part.system)[0]]).rules(brokers_end=brokers_end)
    settled = explored(lived, part, cluster_of(part.system), rules, watches, bounds)
    return Subject(variant, lived, settled, tuple(watched))
