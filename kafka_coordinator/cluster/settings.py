"""The settings of a scenario's groups as they are now; what will be is checked when they are made.

Settings of a scenario's variant under Kafka's own names: which are the brokers', which the clients'.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from kafka_coordinator.assign import STRATEGIES
from kafka_coordinator.catalogue import CLASSIC as CLASSIC_PROTOCOL
from kafka_coordinator.catalogue import CONSUMER as CONSUMER_PROTOCOL
from kafka_coordinator.catalogue import of_protocol
from kafka_coordinator.cluster import controller
from kafka_coordinator.consumer.assigning import in_the_broker, known_assignor
from kafka_coordinator.consumer.settings import GROUP_PROTOCOL, protocol_of
from kafka_coordinator.consumer.settings import NAMES as CONSUMER
from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled
from kafka_coordinator.coordinator.settings import DEFAULTS as GROUP
from kafka_coordinator.coordinator.settings import NAMES as COORDINATOR
from kafka_coordinator.coordinator.settings import BrokerSettings, checked
from protocols.errors import UserError
from protocols.scenario.events import Configure
from protocols.scenario.model import Scenario


class GroupConfigs:
    """Group to its settings, under Kafka's names. Raises `protocols.errors.UserError` for what a broker refuses, be it
    that the group has it from the beginning or that an event sets it."""

    def __init__(self, scenario: Scenario, broker: BrokerSettings) -> None:
        self._broker = broker
        self.now = self._beginning(scenario)
        """Groups without settings of their own are not in it."""
        later: Mapping[str, Mapping[str, int]] = self.now
        for event in scenario.events:
            if isinstance(event, Configure):
                later = self._after(later, event)

    def set(self, event: Configure) -> Mapping[str, Mapping[str, int]]:
        """All settings from this event on."""
        self.now = self._after(self.now, event)
        return self.now

    def _beginning(self, scenario: Scenario) -> Mapping[str, Mapping[str, int]]:
        given = {name: _there(part.settings) for name, part in scenario.groups.items()}
        return {name: checked(settings, self._broker, f"group {name}") for name, settings in given.items() if settings}

    def _after(self, before: Mapping[str, Mapping[str, int]], event: Configure) -> Mapping[str, Mapping[str, int]]:
        name = event.configure
        settings = checked(_there({**before.get(name, {}), **event.settings}), self._broker, f"group {name}")
        others = {group: each for group, each in before.items() if group != name}
        return {**others, name: settings} if settings else others


def _there(given: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


INSTANCE_ID: Final = "group.instance.id"
RACK: Final = "client.rack"
PROTOCOL: Final = GROUP_PROTOCOL
STRATEGY: Final = "partition.assignment.strategy"
REMOTE_ASSIGNOR: Final = "group.remote.assignor"

OF_MEMBERS: Final = (INSTANCE_ID, RACK)
"""Client settings that say who a member is, for which the scenario has fields of its own."""


class SettingsByRole:
    """Settings of one variant, parted into those of consumers, coordinator and controller.

    Raises `UserError` for a name that Kafka does not have (or the model does not know).
    """

    def __init__(self, given: Mapping[str, object], where: str) -> None:
        self.consumer: dict[str, object] = {}
        self.coordinator: dict[str, object] = {}
        self.controller: dict[str, object] = {}
        for name, value in given.items():
            if name in CONSUMER:
                self.consumer[name] = value
            elif name in COORDINATOR:
                self.coordinator[name] = value
            elif name in controller.NAMES:
                self.controller[name] = value
            else:
                raise UserError(f"{where}: {_unknown(name, (*CONSUMER, *COORDINATOR, *controller.NAMES))}")


def group_settings() -> frozenset[str]:
    return frozenset(GROUP)


def member_settings() -> frozenset[str]:
    return frozenset((*CONSUMER, *OF_MEMBERS))


def check_member_settings(given: Mapping[str, object], where: str) -> None:
    """Raises `UserError` for a name that is no setting of a consumer."""
    for name in given:
        if name not in CONSUMER and name not in OF_MEMBERS:
            raise UserError(f"{where}: {_unknown(name, (*CONSUMER, *OF_MEMBERS))}")


def protocol_of_variant(strategy: str, given: Mapping[str, object], where: str) -> str:
    """The group protocol of a variant, which its strategy says. Raises `UserError` for a setting that says another."""
    protocol = CONSUMER_PROTOCOL if in_the_broker(strategy) else CLASSIC_PROTOCOL
    said = _protocol(given, where)
    if said not in (None, protocol):
        fitting = ", ".join(f"kafka:{record.name}" for record in of_protocol(said or ""))
        raise UserError(
            f"{where}: {PROTOCOL} is {said}, but {strategy} belongs to the {protocol} protocol, expected {fitting}"
        )
    return protocol


def protocol_of_member(strategy: str | None, given: Mapping[str, object], variant: str, where: str) -> str:
    """The group protocol of a member: what its settings say, else what its own strategy belongs to, else the variant's.
    Raises `UserError`."""
    said = _protocol(given, where)
    if said is None and strategy is not None:
        return CONSUMER_PROTOCOL if in_the_broker(strategy) else CLASSIC_PROTOCOL
    return said or variant


def _protocol(given: Mapping[str, object], where: str) -> str | None:
    if PROTOCOL not in given:
        return None
    try:
        return protocol_of(given)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def remote_assignor(name: str) -> str:
    """What Kafka's ``group.remote.assignor`` calls an assignor of the consumer protocol."""
    return STRATEGIES[name].known_as if in_the_broker(name) else name


def check_assignors(names: Iterable[str], where: str) -> None:
    """Raises `UserError` for an assignor that no classic consumer can run."""
    for name in names:
        if in_the_broker(name):
            raise UserError(f"{where}: {name} is an assignor of the broker, which {STRATEGY} cannot name")
        if not known_assignor(name):
            known = [strategy for strategy in STRATEGIES if known_assignor(strategy)]
            raise UserError(f"{where}: unknown assignor {name!r}, expected one of {', '.join(known)}")


def check_broker_pattern(pattern: str, where: str) -> None:
    """Raises `UserError` for a pattern that a coordinator would refuse (INVALID_REGULAR_EXPRESSION) or that cannot be
    read here."""
    try:
        compiled(pattern)
    except BadPattern as error:
        raise UserError(f"{where}: {error}") from None


def _unknown(name: str, names: tuple[str, ...]) -> str:
    near = get_close_matches(name[:100], names, 1, 0.6)
    expected = f"expected {near[0]}?" if near else f"expected one of {', '.join(sorted(names))}"
    return f"unknown setting {name!r} of Kafka, {expected}"
