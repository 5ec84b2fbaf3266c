"""A broker goes or comes back."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState, need_server
from protocols.scenario.paths import Path
from protocols.scenario.units import duration_text
from protocols.scenario.validation import PartError


class BrokerEvent(Event):
    """A broker stops properly, is killed, or returns."""

    broker: str
    """The broker."""
    does: Literal["stop", "kill", "return"]
    """``stop`` closes the broker properly, ``kill`` does not."""

    example: ClassVar[str] = "{at: 180s, broker: broker-a, does: kill}"

    def describe(self) -> str:
        return f"{self.broker} " + {"stop": "stops", "kill": "is killed", "return": "returns"}[self.does]

    def check(self, there: ClusterState, path: Path) -> None:
        need_server(self.broker, there.brokers, (*path, "broker"))
        if (self.does == "return") != (self.broker in there.down):
            state = "does not run" if self.broker in there.down else "runs"
            raise PartError(
                (*path, "does"), f"{self.broker} {state} at {duration_text(self.at)}: it cannot {self.does}"
            )

    def broker_changes(self) -> Mapping[str, bool]:
        return {self.broker: self.does == "return"}
