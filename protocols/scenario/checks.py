"""What cannot be although every part by itself could: names that nothing has, times after the end."""

from collections.abc import Iterable, Mapping

from protocols.scenario.events.base import ClusterState, Written
from protocols.scenario.fields import duration_text
from protocols.scenario.model import CONTROLLER, WITH_SLAVES, Scenario, Systems, example_of, split_system
from protocols.scenario.rates import Rates
from protocols.scenario.topology import ADMIN, INFRASTRUCTURE, MemberKey, Topology
from protocols.scenario.validation import PartError, Path, suggestion


def check_end(scenario: Scenario, written: Iterable[Written]) -> None:
    """A run has a length, and no event lies after its end."""
    if scenario.run.for_ <= 0:
        raise PartError(("run", "for"), "a run of length 0, expected one such as 5min")
    for each in written:
        if each.event.at > scenario.run.for_:
            late = f"{duration_text(each.event.at)} is after the end of the run"
            expected = f"expected at most {duration_text(scenario.run.for_)}"
            if not each.shorthand:
                raise PartError((*each.path, "at"), f"{late}, {expected}")
            path = next(iter(each.members().values()), each.path)
            raise PartError(path, f"{each.event.describe()} at {late}, {expected}")


def check_node_names(scenario: Scenario, paths: Mapping[MemberKey, Path]) -> None:
    """No member's process has the name of a broker or of the infrastructure, and no broker that of the latter."""
    for broker in scenario.brokers:
        if broker in (*INFRASTRUCTURE, ADMIN):
            raise PartError(("brokers",), f"{broker!r} is the name of another server, expected other names of brokers")
    taken = {*scenario.servers, *INFRASTRUCTURE, ADMIN}
    topology = Topology.of(scenario)
    for key, node in topology.node.items():
        if node in taken:
            raise PartError(
                paths[key], f"{node!r} is the name of a server, expected another name for a member or process"
            )


def check_systems(scenario: Scenario, systems: Systems | None, written: bool) -> None:
    """Systems and strategies that there are (None: any), every label once."""
    labels: set[str] = set()
    for number, system in enumerate(scenario.systems):
        path = ("systems", number)
        problem = "" if systems is None else system_problem(system.system, systems)
        if problem:
            raise PartError(path, problem)
        if system.label in labels:
            raise PartError(
                path, f"the label {system.label!r} appears twice, expected a different label for each system"
            )
        labels.add(system.label)
    if written and not scenario.systems:
        raise PartError(
            ("systems",),
            f"no system, expected one such as {example_of(systems or {})}, or no systems at all for all of them",
        )


def check_rates(scenario: Scenario) -> None:
    """Every rate is of a topic or a queue that is there some time, and no queue has two rates of its own."""
    if not scenario.load.rates:
        return
    rates = Rates(scenario)
    unknown = set(rates.unknown)
    _check_places(rates)
    for event in scenario.events:
        rates.change(event.queue_changes())
        unknown.intersection_update(rates.unknown)
        _check_places(rates)
    for name in scenario.load.rates:
        if name in unknown:
            raise PartError(
                ("load", "rates", name),
                f"unknown topic or queue {name!r}, expected a topic, topic-number or topic-broker-number, of what is"
                " there or comes by an event",
            )


def check_keys(scenario: Scenario) -> None:
    """Keys are of topics that are there some time, and no queue of theirs has a rate of its own."""
    keys = scenario.load.keys
    there = dict.fromkeys((*scenario.topics, *(topic for event in scenario.events for topic in event.queue_changes())))
    for topic in keys:
        if topic not in there:
            raise PartError(("load", "keys", topic), f"unknown topic {topic!r}, {suggestion(topic, list(there))}")
    rates = Rates(scenario)
    for event in scenario.events:
        rates.change(event.queue_changes())
    for name, (topic, _) in rates.places.items():
        if topic in keys:
            raise PartError(
                ("load", "rates", name),
                f"{topic} has keys, which say what each queue gets, expected a rate of the whole topic",
            )


def _check_places(rates: Rates) -> None:
    names: dict[tuple[str, int], str] = {}
    for name, place in rates.places.items():
        other = names.setdefault(place, name)
        if other != name:
            raise PartError(("load", "rates", name), f"{name!r} is the same queue as {other!r}, expected one of them")


def check_versions(versions: Mapping[str, str], systems: Systems | None) -> None:
    """Versions are of systems that have some, and of those that there are."""
    having = {name: system.versions for name, system in (systems or {}).items() if system.versions}
    for system, version in versions.items() if systems is not None else ():
        if system not in having:
            raise PartError(("versions", system), f"{system!r} has no versions to choose, {suggestion(system, having)}")
        if version not in having[system]:
            raise PartError(
                ("versions", system), f"unknown version {version!r}, expected one of {', '.join(having[system])}"
            )


def check_replication(scenario: Scenario, systems: Systems | None) -> None:
    """Replicas are of systems that there are (None: any), and a queue has at most one on each broker."""
    most = len(scenario.brokers)
    for name, given in scenario.replication.items():
        path = ("replication", name)
        if name == f"{WITH_SLAVES}{CONTROLLER}":
            if not isinstance(given, bool):
                raise PartError(path, f"{given} is neither true nor false, expected one of them")
            if given and scenario.replication.get(WITH_SLAVES, 1) < 2:
                raise PartError(path, f"a controller without slaves, expected {WITH_SLAVES}: 2 or more beside it")
        elif isinstance(given, bool):
            raise PartError(path, f"{str(given).lower()} is no number of replicas, expected one such as 2")
        elif systems is not None and name not in systems:
            raise PartError(path, f"unknown system {name!r}, {suggestion(name, systems)}")
        elif given > most and name != WITH_SLAVES:
            raise PartError(path, f"{given} is more than there are brokers, expected at most {most}")


def system_problem(name: str, systems: Systems) -> str:
    """What is wrong with the name of a variant's system, and what was expected; empty where it is one of a system and a
    strategy that there are."""
    system, strategy = split_system(name)
    if system not in systems:
        return f"unknown system {system!r}, {suggestion(system, systems)}, as in {example_of(systems)}"
    if systems[system].has(strategy):
        return ""
    return f"unknown strategy {strategy!r} of {system}, {suggestion(strategy, systems[system].names)}"


def strategies_of(systems: Systems | None) -> tuple[str, ...] | None:
    """The strategies that a member may have as its own: those of all systems (None: any)."""
    return None if systems is None else tuple(name for system in systems.values() for name in system.names)


def check_events(scenario: Scenario, paths: Iterable[Path], systems: Systems | None) -> None:
    """Goes through the events in the order of time; each is checked against what is there by then."""
    topology = Topology.of(scenario)
    there = ClusterState(
        groups=tuple(scenario.groups),
        brokers=scenario.brokers,
        servers=scenario.servers,
        infrastructure=INFRASTRUCTURE,
        processes=tuple(topology.processes),
        process_names=topology.names(),
        strategies=strategies_of(systems),
        topics={topic: part.queues for topic, part in scenario.topics.items()},
    )
    for event, path in zip(scenario.events, paths, strict=True):
        event.check(there, path)
        there.change(event.queue_changes(), event.broker_changes())
