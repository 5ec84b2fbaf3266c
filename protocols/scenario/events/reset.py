"""An administrator resets offsets."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from protocols.engine.nodes import Time
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Duration
from protocols.scenario.paths import Path
from protocols.scenario.units import duration_text
from protocols.scenario.validation import PartError, suggestion


class Reset(Event):
    """An administrator sets a group's committed offsets of a topic back to a moment of the run: at the broker's table
    (``via: broker``) or through the running clients (``via: client``; RocketMQ)."""

    reset_offsets: str
    """The group."""
    topic: str
    """The topic."""
    to: Duration
    """The time in the run whose offsets are restored."""
    via: Literal["broker", "client"] = "broker"
    """How the new offsets are applied."""

    example: ClassVar[str] = "{at: 200s, reset_offsets: billing, topic: orders, to: 60s}"
    resets_offsets = True
    may_be_refused = True

    def describe(self) -> str:
        how = " through the clients" if self.via == "client" else ""
        return f"offsets of {self.reset_offsets} in {self.topic} are set back to {duration_text(self.to)}{how}"

    def refers_to(self) -> Sequence[Time]:
        return (self.to,)

    def check(self, there: ClusterState, path: Path) -> None:
        if self.reset_offsets not in there.groups:
            expected = suggestion(self.reset_offsets, there.groups)
            raise PartError((*path, "reset_offsets"), f"unknown group {self.reset_offsets!r}, {expected}")
        there.need_topic(self.topic, (*path, "topic"))
        if self.to > self.at:
            raise PartError(
                (*path, "to"), f"{duration_text(self.to)} is later than the event, expected a moment before it"
            )
