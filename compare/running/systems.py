"""The systems that can live through a scenario, and which variants a short name stands for.

Scenarios that name the systems that are installed: `protocols.scenario.reading` with their strategies handed in.

One scenario for several systems: each takes those settings of a member or a group that it has, and passes over the
others'.

Which state machines there are, by system and name, and their edges as the drawings need them.

Drawings are made from the graph of the system's own table (`protocols.state_machine.StateMachine.graph`). The state
``(none)`` stands for "there is no such thing yet".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from protocols.errors import UserError
from protocols.named_modules import module_named
from protocols.scenario import reading
from protocols.scenario.cluster_states import MakeCluster
from protocols.scenario.events import Configure, Event, Join, Restart
from protocols.scenario.fields import GroupPart, MemberPart
from protocols.scenario.model import STATIC, Scenario, SystemStrategies, split_system
from protocols.scenario.validation import suggestion
from protocols.state_machine import Edge, StateMachine
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
        "kafka_coordinator.cluster.cluster",
        "KafkaCluster",
        "kafka_coordinator.cluster.settings",
        "kafka_coordinator.assign",
        THROUGHOUT,
        also=(f"kafka:range{STATIC}", "kafka-zookeeper:range"),
        static_members=True,
    ),
    "kafka-zookeeper": System(
        "kafka_coordinator.zookeeper.cluster",
        "ZooKeeperCluster",
        "kafka_coordinator.zookeeper.settings",
        "kafka_coordinator.zookeeper.settings",
        THROUGHOUT,
    ),
    "rocketmq": System(
        "rocketmq_selfbalance.cluster.cluster",
        "RocketMQCluster",
        "rocketmq_selfbalance.cluster.members",
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
    of = [system for system in SYSTEMS if registered(system)] if name is None else [split_system(name)[0]]
    return frozenset().union(*(module_named(SYSTEMS[each].settings).member_settings() for each in of))


def group_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system that is there) knows as settings of a group."""
    of = [system for system in SYSTEMS if registered(system)] if name is None else [split_system(name)[0]]
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
            records = tuple(strategies[strategy] for strategy in strategies)
            found[name] = SystemStrategies(records, system.static_members)
    return found


def read(path: str | Path) -> Scenario:
    """The scenario in a YAML file. Raises `UserError`: one line that names the file, the line and the field."""
    return reading.read(path, known_strategies())


def read_text(text: str, source: str = "scenario") -> Scenario:
    """The scenario in a YAML text; ``source`` is what errors call it. Raises `UserError` as `read` does."""
    return reading.read_text(text, source, known_strategies())


def scenario(given: Mapping[str, object] | None = None, /, **fields: object) -> Scenario:
    """The same from plain Python values, see `protocols.scenario.reading.scenario`."""
    return reading.scenario(given, registered=known_strategies(), **fields)


P = TypeVar("P", MemberPart, Join, Restart, GroupPart, Configure)


Known = tuple[frozenset[str], frozenset[str]]
"""Names of settings that one system has, and those that any has."""


def own_part(part: P, own: Collection[str]) -> P:
    """The same with those settings only."""
    return part.model_copy(update={"settings": {name: part.settings[name] for name in part.settings if name in own}})


def with_own_settings(scenario: Scenario, system: str) -> Scenario:
    """The scenario as this system (``kafka:range``) sees it: without the settings of members and groups that only
    others know.

    Raises `UserError` for what no system knows.
    """
    of_member: Known = member_settings(system), member_settings()
    of_group: Known = group_settings(system), group_settings()

    def event_of(event: Event) -> Event:
        if isinstance(event, Join):
            return _mine(f"member {event.join}", event, of_member)
        if isinstance(event, Configure):
            return _mine(f"group {event.configure}", event, of_group)
        return _mine(f"member {event.restart}", event, of_member) if isinstance(event, Restart) else event

    def group_of(name: str, group: GroupPart) -> GroupPart:
        members = {member: _mine(f"member {member}", part, of_member) for member, part in group.members.items()}
        return _mine(f"group {name}", group, of_group).model_copy(update={"members": members})

    groups = {name: group_of(name, group) for name, group in scenario.groups.items()}
    return scenario.model_copy(update={"groups": groups, "events": tuple(map(event_of, scenario.events))})


def _mine(what: str, part: P, known: Known) -> P:
    for name in part.settings:
        if name not in known[1]:
            expected = suggestion(name, [*sorted(known[0]), *sorted(known[1] - known[0])])
            raise UserError(f"{what}: unknown setting {name!r}, {expected}")
    return own_part(part, known[0]) if part.settings else part


MACHINES: Mapping[str, Mapping[str, str]] = {
    "kafka": {
        "group": "kafka_coordinator.coordinator.states:GROUP",
        "consumer": "kafka_coordinator.consumer.states:CONSUMER",
        "consumer protocol": "kafka_coordinator.consumer.kip848.states:CONSUMER_PROTOCOL",
        "consumer group": "kafka_coordinator.coordinator.consumer_groups.states:GROUP",
        "consumer group member": "kafka_coordinator.coordinator.consumer_groups.states:MEMBER",
    },
    "rocketmq": {
        "process queue": "rocketmq_selfbalance.states:PROCESS_QUEUE",
        "client": "rocketmq_selfbalance.states:CLIENT",
    },
}
"""System to its machines, each with the module and the name of its table; the first one is drawn where none is named.
Modules are imported when they are needed."""


class Machine(NamedTuple):
    """A state machine as it is drawn; edges are grouped by state, in the order of ``states``."""

    system: str
    name: str
    states: tuple[str, ...]
    older_names: Mapping[str, str]
    edges: tuple[Edge, ...]
    meanings: Mapping[str, str] = {}
    """State to what is going on in it."""

    @property
    def title(self) -> str:
        """What the machine is called above its drawing."""
        return f"{self.system}: {self.name}"

    def shown(self, state: str) -> str:
        """The state's name with the older one, where there is one."""
        return f"{state} ({self.older_names[state]})" if state in self.older_names else state

    def between(self) -> dict[tuple[str, str], list[str]]:
        """States before and after to the labels of all edges between them."""
        found: dict[tuple[str, str], list[str]] = {}
        for edge in self.edges:
            found.setdefault((edge.before, edge.after), []).append(edge.label)
        return found


def machine(system: str, name: str | None) -> Machine:
    """The machine of a system, the first if no name is given. `UserError` names those that there are."""
    named = MACHINES[system]
    chosen = next(iter(named)) if name is None else name
    if chosen not in named:
        raise UserError(f"--machine {chosen}: {system} has no such state machine, expected one of {', '.join(named)}")
    module, _, attribute = named[chosen].partition(":")
    table: StateMachine = getattr(module_named(module), attribute)
    graph = table.graph()
    place = {state: position for position, state in enumerate(graph.nodes)}
    edges = [Edge(before, said["event"], said["guard"], after) for before, after, said in graph.edges(data=True)]
    edges.sort(key=lambda edge: (place[edge.before], place[edge.after]))
    return Machine(system, table.name, tuple(place), table.older_names, tuple(edges), table.meanings)
