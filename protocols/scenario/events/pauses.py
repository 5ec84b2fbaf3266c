"""A member stands still for a while: its whole process, or the user's code alone."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from protocols.engine.nodes import Time
from protocols.scenario.events.base import Event, MemberChange
from protocols.scenario.fields import Duration, EachMember
from protocols.scenario.paths import Path
from protocols.scenario.units import duration_text


class Hang(Event):
    """A member's process is stopped for a while; its connections stay open; then it resumes with its old beliefs."""

    hang: EachMember
    """The member; others in its process hang with it."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 90s, hang: c1, for: 40s}"
    member_change = MemberChange.PAUSES
    acts_late = True

    def what(self, several: bool) -> str:
        return f"{'hang' if several else 'hangs'} for {duration_text(self.for_)}"

    def members(self) -> Mapping[str, Path]:
        return {self.hang: ("hang",)}

    def strikes_process(self) -> bool:
        return True

    def lasts(self) -> Time:
        return self.for_


class StopPolling(Event):
    """A member's user loop hangs for a while; the client's background work continues."""

    stop_polling: EachMember
    """The member."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 95s, stop_polling: c1, for: 6min}"
    member_change = MemberChange.PAUSES
    acts_late = True

    def what(self, several: bool) -> str:
        return f"{'stop' if several else 'stops'} polling for {duration_text(self.for_)}"

    def members(self) -> Mapping[str, Path]:
        return {self.stop_polling: ("stop_polling",)}

    def lasts(self) -> Time:
        return self.for_
