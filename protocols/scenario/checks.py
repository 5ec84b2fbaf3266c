"""What cannot be although every part by itself could: names that nothing has, times after the end."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from protocols.errors import UserError
from protocols.scenario.commits import offsets_of, records_of
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Commit,
    DeleteTopic,
    Disconnect,
    Event,
    Join,
    Network,
    Produce,
    Queues,
    Reset,
    Restart,
)
from protocols.scenario.groups import MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.parts import PartError, suggestion
from protocols.scenario.paths import Path
from protocols.scenario.places import ADMIN, INFRASTRUCTURE, MemberKey, Places
from protocols.scenario.systems import Systems, example_of, split_system
from protocols.scenario.units import duration_text


def check_end(scenario: Scenario, paths: Iterable[Path]) -> None:
    """A run has a length, and no event lies after its end."""
    if scenario.run.for_ <= 0:
        raise PartError(("run", "for"), "a run of length 0, expected one such as 5min")
    for event, path in zip(scenario.events, paths, strict=True):
        if event.at > scenario.run.for_:
            end = duration_text(scenario.run.for_)
            raise PartError(
                (*path, "at"), f"{duration_text(event.at)} is after the end of the run, expected at most {end}"
            )


def check_node_names(scenario: Scenario, paths: Mapping[MemberKey, Path]) -> None:
    """No member's process has the name of a broker or of the infrastructure."""
    taken = {*scenario.brokers, *INFRASTRUCTURE, ADMIN}
    places = Places.of(scenario)
    for key, node in places.node.items():
        if node in taken:
            raise PartError(
                paths[key], f"{node!r} is the name of a server, expected another name for a member or process"
            )


def check_systems(scenario: Scenario, systems: Systems | None, written: bool) -> None:
    """Systems and strategies that there are (None: any), every label once."""
    labels: set[str] = set()
    for number, each in enumerate(scenario.systems):
        path = ("systems", number)
        problem = "" if systems is None else system_problem(each.system, systems)
        if problem:
            raise PartError(path, problem)
        if each.label in labels:
            raise PartError(path, f"the label {each.label!r} appears twice, expected a different label for each system")
        labels.add(each.label)
    if written and not scenario.systems:
        raise PartError(
            ("systems",),
            f"no system, expected one such as {example_of(systems or {})}, or no systems at all for all of them",
        )


def system_problem(name: str, systems: Systems) -> str:
    """What is wrong with the name of a variant's system, and what was expected; empty where it is one of a system and a
    strategy that there are."""
    system, strategy = split_system(name)
    if system not in systems:
        return f"unknown system {system!r}, {suggestion(system, systems)}, as in {example_of(systems)}"
    if systems[system].has(strategy):
        return ""
    return f"unknown strategy {strategy!r} of {system}, {suggestion(strategy, systems[system].names)}"


def check_strategy(part: MemberPart | Join | Restart, systems: Systems | None, path: Path) -> None:
    """A member's own strategies are some system's (None: any)."""
    if systems is None:
        return
    strategies = [name for system in systems.values() for name in system.names]
    for name in () if part.strategy is None else part.strategy.split(","):
        if name.strip() not in strategies:
            raise PartError((*path, "strategy"), f"unknown strategy {name.strip()!r}, {suggestion(name, strategies)}")


class Checks:
    """Goes through the events in the order of time and knows which topics and brokers are there."""

    def __init__(self, scenario: Scenario, systems: Systems | None) -> None:
        self._scenario, self._systems = scenario, systems
        self._places = Places.of(scenario)
        self._topics = {topic: dict(part.queues) for topic, part in scenario.topics.items()}
        self._down: set[str] = set()

    def event(self, event: Event, path: Path) -> None:
        """Raises `PartError` where the event cannot happen."""
        check = self._checks.get(type(event))
        if check is not None:
            check(self, event, path)

    def _queues(self, event: Queues, path: Path) -> None:
        for topic, queues in event.queues.items():
            self._is_topic(topic, (*path, "queues", topic))
            self._topics[topic] = queues

    def _add_topic(self, event: AddTopic, path: Path) -> None:
        for topic, part in event.add_topic.items():
            if topic in self._topics:
                raise PartError((*path, "add_topic", topic), f"topic {topic!r} already exists, expected a new name")
            self._topics[topic] = dict(part.queues)

    def _delete_topic(self, event: DeleteTopic, path: Path) -> None:
        self._is_topic(event.delete_topic, (*path, "delete_topic"))
        del self._topics[event.delete_topic]

    def _broker(self, event: BrokerEvent, path: Path) -> None:
        self._is_server(event.broker, self._scenario.brokers, (*path, "broker"))
        if (event.does == "return") != (event.broker in self._down):
            state = "does not run" if event.broker in self._down else "runs"
            raise PartError(
                (*path, "does"), f"{event.broker} {state} at {duration_text(event.at)}: it cannot {event.does}"
            )
        (self._down.remove if event.does == "return" else self._down.add)(event.broker)

    def _disconnect(self, event: Disconnect, path: Path) -> None:
        if event.broker is not None:
            self._is_server(event.broker, (*self._scenario.brokers, *INFRASTRUCTURE), (*path, "broker"))

    def _network(self, event: Network, path: Path) -> None:
        inside = (*path, "between")
        if not 1 <= len(event.between) <= 2:
            raise PartError(inside, "expected two names, or one name for the links to all others")
        for number, name in enumerate(event.between):
            try:
                self._places.named(name)
            except UserError:
                names = (*self._scenario.brokers, *INFRASTRUCTURE, *self._places.processes)
                raise PartError((*inside, number), f"unknown process {name!r}, {suggestion(name, names)}") from None
        if event.network == "loss" and not 0 < event.loss <= 1:
            raise PartError(
                (*path, "loss"), f"{event.loss:g} is not a share of messages, expected more than 0 and at most 1"
            )
        if event.network == "delay" and event.delay == 0:
            raise PartError((*path, "delay"), "no delay, expected one such as 200ms")
        for field in ("loss", "delay"):
            if field in event.model_fields_set and field != event.network:
                raise PartError(
                    (*path, field), f"belongs to network: {field}, but the event has network: {event.network}"
                )

    def _commit(self, event: Commit, path: Path) -> None:
        try:
            offsets_of(event, self._topics)
        except UserError as error:
            raise PartError((*path, "offsets"), str(error)) from None

    def _produce(self, event: Produce, path: Path) -> None:
        try:
            records_of(event, self._topics)
        except UserError as error:
            raise PartError((*path, "produce"), f"{error}, or a topic") from None

    def _reset(self, event: Reset, path: Path) -> None:
        groups = self._scenario.groups
        if event.reset_offsets not in groups:
            expected = suggestion(event.reset_offsets, groups)
            raise PartError((*path, "reset_offsets"), f"unknown group {event.reset_offsets!r}, {expected}")
        self._is_topic(event.topic, (*path, "topic"))
        if event.to > event.at:
            raise PartError(
                (*path, "to"), f"{duration_text(event.to)} is later than the event, expected a moment before it"
            )

    def _starts(self, event: Join | Restart, path: Path) -> None:
        check_strategy(event, self._systems, path)

    def _is_topic(self, topic: str, path: Path) -> None:
        if topic not in self._topics:
            raise PartError(path, f"unknown topic {topic!r}, {suggestion(topic, self._topics)}")

    def _is_server(self, name: str, servers: Iterable[str], path: Path) -> None:
        if name not in servers:
            raise PartError(path, f"unknown broker {name!r}, {suggestion(name, servers)}")

    _checks: Mapping[type[Event], Callable[..., Any]] = {
        Queues: _queues,
        AddTopic: _add_topic,
        DeleteTopic: _delete_topic,
        BrokerEvent: _broker,
        Disconnect: _disconnect,
        Network: _network,
        Commit: _commit,
        Produce: _produce,
        Reset: _reset,
        Join: _starts,
        Restart: _starts,
    }
