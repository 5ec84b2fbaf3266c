"""What is asked of a served cluster, whichever system it is: who is in its groups, which topics there are.

The verb `serve` and the pytest fixtures need the same questions and the same powers (expire a session now, hold a
request, move the coordinator). The world on sockets lives in an event loop of its own thread; whoever asks is in
another, so that every question is handed over and waits for its answer.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

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

    def changed_topics(self) -> Mapping[str, Mapping[str, int] | None]:
        """Those of them that are others than at the last call, or may be; None: such a topic is gone."""

    def groups(self) -> Sequence[str]:
        """The groups that have or had members."""

    def members(self, group: str) -> Mapping[str, Seen]:
        """Name to member, of those that the servers count in now."""

    def strategy(self, group: str) -> str:
        """The strategy that the group uses now, as in ``kafka:range``; empty where that is not known."""

    def create_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """There is a topic more, with so many queues per broker. Raises `UserError` where it cannot be."""

    def set_queues(self, topic: str, queues: Mapping[str, int]) -> None:
        """The topic has other queues from now on. Raises `UserError` where it cannot have them."""

    def delete_topic(self, topic: str) -> None:
        """The topic is gone. Raises `UserError` where there is none."""

    async def bring_back(self, broker: str) -> None:
        """A broker that does not run starts, on the port that it had."""

    def stop(self, broker: str) -> None:
        """A broker that runs ends properly."""

    def kill(self, broker: str) -> None:
        """A broker that runs is gone at once."""
