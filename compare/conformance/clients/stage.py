"""Where a situation is played: with a program on sockets, or with the model in the simulation.

One script (`compare.conformance.clients.playing`) plays in real and in virtual time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from compare.conformance.clients.exchanges import Exchanges
from kafka_coordinator.cluster import (
    NONE,
    UNKNOWN_MEMBER_ID,
    ConsumerGroupHeartbeat,
    Heartbeat,
    OffsetCommit,
    SyncGroup,
    refusal,
)
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time

GROUP: Final = "judged"
TOPIC: Final = "records"
PARTITIONS: Final = 3
BROKERS: Final = ("broker-1", "broker-2")
FIRST, SECOND = "c1", "c2"
EVERY_MS: Final = 100.0
"""A record is written to every partition so often."""

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 1_000,
}
"""Of the brokers: what only costs time is short."""


@dataclass(slots=True)
class Mark:
    """When what is judged began: the time, the place in `Exchanges.all`, and who the member was then."""

    at: Time
    place: int
    member_id: str
    refused: Message | None = None


class World(Protocol):
    """What a stage needs of the world below it."""

    @property
    def now(self) -> Time: ...

    def start(self, member: str, instance_id: str | None = None) -> None:
        """Start a program, or the model's consumer; as a static member where it is given an id."""

    def kill(self, member: str) -> None:
        """End its process at once; nobody is told."""

    def stop(self, member: str) -> None:
        """Tell it to end properly."""

    def freeze(self, member: str) -> None:
        """Stop its process; its connections stay open."""

    def thaw(self, member: str) -> None:
        """Let its process go on."""

    def alive(self, member: str) -> bool:
        """Whether it was started and has not ended."""

    def cut(self, member: str) -> None:
        """Cut its connections."""

    def move_coordinator(self) -> None:
        """Another broker is the group's coordinator from now on."""

    def expire(self, member_id: str) -> None:
        """The session of a member ends now."""


@dataclass(slots=True)
class Stage:
    """One situation while it is played."""

    world: World
    exchanges: Exchanges
    interference: Interference
    is_classic: bool
    mark: Mark | None = None

    def begin(self, refused: Message | None = None) -> None:
        """What happens from now on is judged."""
        place = len(self.exchanges.all)
        if refused is not None:
            place = next(at for at, each in enumerate(self.exchanges.all) if each.request is refused) + 1
        self.mark = Mark(self.world.now, place, self.member_id(FIRST), refused)

    def member_id(self, member: str) -> str:
        """The id under which the member spoke last; empty where it has none yet."""
        ids = [each.member_id for each in self.exchanges.of(member) if each.member_id]
        return ids[-1] if ids else ""

    def is_static(self, member: str) -> bool:
        """Whether it has asked to join as a static member."""
        joins = [each.request for each in self.exchanges.of(member) if each.joins]
        return any(getattr(join, "instance_id", None) is not None for join in joins)

    def refuse(self, kind: type[Message], error: str, matches: Callable[[Message], bool] = lambda _: True) -> None:
        """Answer the next request of this kind of the first member with an error, and judge from then on."""

        def meant(node: str, sender: str, message: Message) -> bool:
            if type(message) is not kind or not matches(message):
                return False
            return next(each for each in reversed(self.exchanges.all) if each.request is message).member == FIRST

        def answer(node: str, message: Message) -> Message:
            self.begin(message)
            if error == UNKNOWN_MEMBER_ID:
                self.world.expire(getattr(message, "member_id", ""))  # a broker that says so has no such member
            return refusal(message, error)

        self.interference.reply(meant, answer, 1)

    def works(self, member: str, since: int = 0, after: Time = -1.0) -> bool:
        """Whether it is a member in good standing: a heartbeat or a commit, sent in this time, was answered without an
        error, and it has not asked to join since."""
        good = False
        for each in self.exchanges.of(member, since):
            if each.joins or isinstance(each.request, SyncGroup):
                good = isinstance(each.request, ConsumerGroupHeartbeat | SyncGroup) and each.error == NONE
            elif isinstance(each.request, _SIGNS) and each.at >= after and each.error == NONE:
                good = good or bool(each.member_id)
        return good

    def commits(self, member: str) -> bool:
        """Whether it has committed."""
        return any(isinstance(each.request, OffsetCommit) and each.error == NONE for each in self.exchanges.of(member))


_SIGNS = (Heartbeat, ConsumerGroupHeartbeat, OffsetCommit)
