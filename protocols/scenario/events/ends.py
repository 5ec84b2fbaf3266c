"""A member is gone: it closed, or its process was killed."""

from collections.abc import Mapping
from typing import ClassVar

from protocols.scenario.events.base import Event, MemberChange
from protocols.scenario.fields import EachMember
from protocols.scenario.paths import Path


class Leave(Event):
    """A member closes properly (Kafka's close(), RocketMQ's shutdown())."""

    leave: EachMember
    """The member."""

    example: ClassVar[str] = "{at: 110s, leave: c3}"
    member_change = MemberChange.ENDS

    def what(self, several: bool) -> str:
        return "leave" if several else "leaves"

    def members(self) -> Mapping[str, Path]:
        return {self.leave: ("leave",)}


class Crash(Event):
    """A member's process is killed: its connections close, without any message to others."""

    crash: EachMember
    """The member; others in its process crash with it."""

    example: ClassVar[str] = "{at: 60s, crash: c2}"
    member_change = MemberChange.ENDS
    acts_late = True

    def what(self, several: bool) -> str:
        return "crash" if several else "crashes"

    def members(self) -> Mapping[str, Path]:
        return {self.crash: ("crash",)}

    def strikes_process(self) -> bool:
        return True
