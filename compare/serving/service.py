"""What is asked of a served cluster, whichever system it is: who is in its groups, which topics there are."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from protocols.scenario.events import Event
from protocols.timeline import Numbering


class Seen(NamedTuple):
    """A member as the servers see it: the topics that it subscribes to (sorted), or the pattern."""

    topics: tuple[str, ...]
    pattern: str | None = None
    instance_id: str | None = None


class Service(Protocol):
    """A cluster in a world on sockets; everything is asked in its event loop."""

    system: str
    """``kafka`` or ``rocketmq``."""
    numbering: Numbering

    @property
    def brokers(self) -> Sequence[str]:
        """Names of all brokers, those that are away among them."""

    def topics(self) -> Mapping[str, Mapping[str, int]]:
        """Topic to its queues per broker, in order; topics that the system made for itself are left out."""

    def groups(self) -> Sequence[str]:
        """The groups that have or had members."""

    def members(self, group: str) -> Mapping[str, Seen]:
        """Name to member, of those that the servers count in now."""

    def strategy(self, group: str) -> str:
        """The strategy that the group uses now, as in ``kafka:range``; empty where that is not known."""

    async def apply(self, event: Event) -> bool:
        """The event happens now; whether it is one of servers and topics."""
