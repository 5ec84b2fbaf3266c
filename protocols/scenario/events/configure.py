"""An administrator changes the settings of a group."""

from typing import ClassVar

from pydantic import Field

from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Settings
from protocols.scenario.paths import Path
from protocols.scenario.validation import PartError, suggestion


class Configure(Event):
    """An administrator changes settings of a group, as `kafka-configs --entity-type groups` does. A system without such
    settings passes over the event."""

    configure: str
    """The group."""
    settings: Settings = Field(default_factory=dict)
    """Settings added to its former ones, under the system's own names; null removes one."""

    example: ClassVar[str] = "{at: 60s, configure: billing, settings: {consumer.session.timeout.ms: 60000}}"
    can_rebalance = False
    may_be_refused = True

    def describe(self) -> str:
        said = [f"{name} {'as by default' if value is None else value}" for name, value in self.settings.items()]
        return f"{self.configure} is configured: {', '.join(said) or 'nothing'}"

    def check(self, there: ClusterState, path: Path) -> None:
        if self.configure not in there.groups:
            expected = suggestion(self.configure, there.groups)
            raise PartError((*path, "configure"), f"unknown group {self.configure!r}, {expected}")
        if not self.settings:
            raise PartError((*path, "settings"), "no settings, expected at least one such as {name: value}")
