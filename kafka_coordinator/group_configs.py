"""The settings of a scenario's groups as they are now; what will be is checked when they are made."""

from collections.abc import Mapping

from kafka_coordinator.coordinator.group_settings import checked
from kafka_coordinator.coordinator.settings import BrokerSettings
from protocols.scenario.events import Configure
from protocols.scenario.model import Scenario


class GroupConfigs:
    """Group to its settings, under Kafka's names. Raises `protocols.errors.UserError` for what a broker refuses, be it
    that the group has it from the beginning or that an event sets it."""

    __slots__ = ("_broker", "now")

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
    """The settings without those that are null."""
    return {name: value for name, value in given.items() if value is not None}
