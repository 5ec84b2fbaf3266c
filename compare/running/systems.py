"""The systems: what makes the cluster of each, its strategies, the settings that it knows, and its state machines. All
are taken from the systems' public doors, which import a module when a name of it is first used.

A short name stands for several variants. One scenario serves several systems: each takes those settings of a member or
a group that it has, and passes over the others'. A state machine is drawn from the graph of the system's own table
(`protocols.state_machine.StateMachine.graph`); its state ``(none)`` stands for "there is no such thing yet".
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import kafka_coordinator.cluster as kafka
import rocketmq_selfbalance.cluster as rocketmq
from kafka_coordinator import STRATEGIES as KAFKA_STRATEGIES
from kafka_coordinator.catalogue import SHARE_GROUPS
from protocols.engine.nodes import Message
from protocols.engine.traffic import Sizes
from protocols.errors import UserError
from protocols.scenario import reading
from protocols.scenario.cluster_states import MakeCluster
from protocols.scenario.events import Configure, Event, Join, Restart
from protocols.scenario.fields import GroupPart, MemberPart
from protocols.scenario.model import STATIC, Scenario, SystemStrategies, split_system
from protocols.scenario.validation import suggestion
from protocols.state_machine import Edge, StateMachine
from protocols.strategies import Registry, StrategyRecord
from protocols.timeline import PER_BROKER, THROUGHOUT, Numbering
from protocols.versions import Versions
from rocketmq_selfbalance import STRATEGIES as ROCKETMQ_STRATEGIES
from rocketmq_selfbalance.catalogue import POP_GROUPS

if TYPE_CHECKING:
    from protocols.engine.exploration import NodeRules


@dataclass(frozen=True, slots=True)
class System:
    """What makes a system's cluster, the names of its members', groups' and producers' settings, its strategies, what
    tells the explorer of its nodes, how it numbers queues, and the sizes of frames with the messages that clients send
    (no sizes: they are not known). ``also``: variants for which its bare name stands besides those that a scenario
    without ``systems`` has of it. ``static_members``: whether members can be static; ``versions``: those that a
    scenario may name, None where there is one; ``without_owners``: what may stand in place of a strategy where nobody
    owns a queue."""

    cluster: Callable[[], MakeCluster]
    member_settings: Callable[[], frozenset[str]]
    group_settings: Callable[[], frozenset[str]]
    strategies: Callable[[], Registry[Any]]
    exploration_rules: "Callable[[bool], NodeRules]"
    numbering: Numbering
    traffic: Callable[[], tuple[Sizes, Collection[type[Message]]]]
    producer_settings: Callable[[], frozenset[str]] = frozenset
    also: tuple[str, ...] = ()
    static_members: bool = False
    versions: Callable[[], Versions[Any] | None] = lambda: None
    without_owners: tuple[StrategyRecord[Any], ...] = ()


SYSTEMS: Mapping[str, System] = {
    "kafka": System(
        lambda: kafka.KafkaCluster,
        lambda: kafka.member_settings(),
        lambda: kafka.group_settings(),
        lambda: KAFKA_STRATEGIES,
        lambda brokers_end: kafka.exploration_rules(brokers_end=brokers_end),
        THROUGHOUT,
        lambda: (kafka.SIZES, kafka.REQUESTS),
        lambda: kafka.producer_settings(),
        also=(f"kafka:range{STATIC}", "kafka-zookeeper:range"),
        static_members=True,
        versions=lambda: kafka.VERSIONS,
        without_owners=(SHARE_GROUPS,),
    ),
    "kafka-zookeeper": System(
        lambda: kafka.ZooKeeperCluster,
        lambda: kafka.zookeeper_member_settings(),
        lambda: kafka.zookeeper_group_settings(),
        lambda: kafka.ZOOKEEPER_STRATEGIES,
        lambda brokers_end: kafka.zookeeper_exploration_rules(brokers_end=brokers_end),
        THROUGHOUT,
        lambda: ({}, ()),
    ),
    "rocketmq": System(
        lambda: rocketmq.cluster_of_variant,
        lambda: rocketmq.member_settings(),
        lambda: rocketmq.group_settings(),
        lambda: ROCKETMQ_STRATEGIES,
        lambda brokers_end: rocketmq.exploration_rules(brokers_end=brokers_end),
        PER_BROKER,
        lambda: (rocketmq.SIZES, rocketmq.REQUESTS),
        lambda: frozenset(rocketmq.PRODUCER_SETTINGS),
        versions=lambda: rocketmq.VERSIONS,
        without_owners=(POP_GROUPS,),
    ),
}


def system_of(name: str) -> System:
    """The system of ``kafka:range``; `UserError` where there is none."""
    system, _ = split_system(name)
    if system not in SYSTEMS:
        expected = ", ".join(SYSTEMS)
        raise UserError(f"{name}: no system {system!r} can run a scenario, expected one of {expected}")
    return SYSTEMS[system]


def has_no_owners(name: str) -> bool:
    """Whether records are given out one by one in the variant ``kafka:share``, so that no queue has an owner."""
    system, strategy = split_system(name)
    return any(record.name == strategy for record in SYSTEMS[system].without_owners)


def cluster_of(name: str) -> MakeCluster:
    """What makes the cluster of ``kafka:range``; `UserError` where there is none."""
    return system_of(name).cluster()


def member_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system) knows as settings of a single member."""
    return frozenset().union(*(system.member_settings() for system in _asked(name)))


def group_settings(name: str | None = None) -> frozenset[str]:
    """What the system of ``kafka:range`` (None: any system) knows as settings of a group."""
    return frozenset().union(*(system.group_settings() for system in _asked(name)))


def _asked(name: str | None) -> Collection[System]:
    return SYSTEMS.values() if name is None else (SYSTEMS[split_system(name)[0]],)


def variant_names() -> tuple[str, ...]:
    """Every system with each strategy of its catalogue: ``kafka:range`` and so on."""
    return tuple(
        f"{name}:{strategy}"
        for name, system in SYSTEMS.items()
        for strategy in (*system.strategies().of_catalogue, *(each.name for each in system.without_owners))
    )


def known_strategies() -> dict[str, SystemStrategies]:
    """The systems with their strategies: those of the catalogues and those that users registered."""
    found = {}
    for name, system in SYSTEMS.items():
        strategies = system.strategies()
        records = (*(strategies[strategy] for strategy in strategies), *system.without_owners)
        versions = tuple(system.versions() or ())
        found[name] = SystemStrategies(records, system.static_members, versions, system.member_settings())
    return found


def read(path: str | Path, *, served: bool = False) -> Scenario:
    """The scenario in a YAML file. Raises `UserError`: one line that names the file, the line and the field.
    ``served``: for real clients, see `protocols.scenario.reading.build`."""
    return reading.read(path, known_strategies(), served=served)


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


def versions_of(system: str) -> Versions[Any]:
    """The versions of a system that has several."""
    versions = SYSTEMS[system].versions()
    assert versions is not None, system
    return versions


def with_versions(scenario: Scenario, versions: Mapping[str, str]) -> Scenario:
    """The scenario with these versions in place of its own."""
    return scenario.model_copy(update={"versions": {**scenario.versions, **versions}})


def version_notes(versions: Mapping[str, str]) -> list[str]:
    """A line for each of these versions of systems whose answers nobody has compared with a broker's."""
    return [note for system, version in versions.items() if (note := versions_of(system).note(version))]


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
        return _mine(f"group {name}", group, of_group, of_member[1]).model_copy(update={"members": members})

    groups = {name: group_of(name, group) for name, group in scenario.groups.items()}
    changed: dict[str, object] = {"groups": groups, "events": tuple(map(event_of, scenario.events))}
    if given := scenario.load.producer:
        own, known = (
            frozenset().union(*(each.producer_settings() for each in _asked(asked))) for asked in (system, None)
        )
        for name in given:
            if name not in known:
                raise UserError(f"load: unknown setting {name!r} of producers, {suggestion(name, sorted(known))}")
        producer = {name: value for name, value in given.items() if name in own}
        changed["load"] = scenario.load.model_copy(update={"producer": producer})
    return scenario.model_copy(update=changed)


def _mine(what: str, part: P, known: Known, also: Collection[str] = ()) -> P:
    """``also``: names that one might have meant."""
    for name in part.settings:
        if name not in known[1]:
            expected = suggestion(name, [*sorted(known[0]), *sorted(known[1] - known[0]), *sorted(also)])
            raise UserError(f"{what}: unknown setting {name!r}, {expected}")
    return own_part(part, known[0]) if part.settings else part


MACHINES: Mapping[str, Mapping[str, Callable[[], StateMachine]]] = {
    "kafka": {
        "group": lambda: kafka.GROUP,
        "consumer": lambda: kafka.CONSUMER,
        "consumer protocol": lambda: kafka.CONSUMER_PROTOCOL,
        "consumer group": lambda: kafka.consumer_groups_states.GROUP,
        "consumer group member": lambda: kafka.consumer_groups_states.MEMBER,
        "share group": lambda: kafka.share_groups_states.GROUP,
    },
    "rocketmq": {"process queue": lambda: rocketmq.PROCESS_QUEUE, "client": lambda: rocketmq.CLIENT},
}
"""System to its machines, each with its table; the first one is drawn where none is named."""


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
    table = named[chosen]()
    graph = table.graph()
    place = {state: position for position, state in enumerate(graph.nodes)}
    edges = [Edge(before, said["event"], said["guard"], after) for before, after, said in graph.edges(data=True)]
    edges.sort(key=lambda edge: (place[edge.before], place[edge.after]))
    return Machine(system, table.name, tuple(place), table.older_names, tuple(edges), table.meanings)
