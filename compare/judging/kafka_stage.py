"""Where a situation of Kafka's clients is played: with a program on sockets, or with the model in the simulation."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from compare.judging.given_out import GivenOut, Told
from compare.judging.playing import FIRST, AnyWorld, Members, Waits
from compare.judging.worlds import Exchange, Listener
from kafka_coordinator.cluster import (
    NONE,
    UNKNOWN_MEMBER_ID,
    ConsumerGroupHeartbeat,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    ShareFetch,
    ShareGroupHeartbeat,
    SyncGroup,
    TxnOffsetCommit,
    refusal,
)
from kafka_coordinator.wire import InitProducerId
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.facts import Acquired, Available, Ended


class KafkaExchange(Exchange):
    """What is asked of a request to Kafka's brokers."""

    __slots__ = ()

    @property
    def member_id(self) -> str:
        """Whose request it is; empty where it does not say."""
        return getattr(self.request, "member_id", None) or ""

    @property
    def error(self) -> str | None:
        """Kafka's name of the error of the answer, `NONE` for success; None while it is not answered."""
        if self.answer is None:
            return None
        errors = getattr(self.answer, "errors", None)
        if errors is not None and not hasattr(self.answer, "error"):
            return next((error for _, error in errors if error != NONE), NONE)
        return str(getattr(self.answer, "error", NONE))

    @property
    def joins(self) -> bool:
        """Whether it asks to be (again) a member."""
        request = self.request
        return isinstance(request, JoinGroup) or (
            isinstance(request, ConsumerGroupHeartbeat | ShareGroupHeartbeat) and request.member_epoch == 0
        )


class Exchanges(Listener[KafkaExchange]):
    """Of Kafka's brokers."""

    def __init__(self, brokers: Collection[str], member_of: Callable[[str, Message], str]) -> None:
        super().__init__(brokers, member_of, KafkaExchange)

    def given_out(self) -> GivenOut[int]:
        """Partition and offset of all records that members of a share group were given, and what became of them."""
        names = {each.request.client_id: each.member for each in self.all if isinstance(each.request, ShareFetch)}
        return GivenOut.of(
            Told(fact.queue.number, fact.first, fact.end, names.get(fact.member or "", ""), fact)
            for _, fact in self.facts
            if isinstance(fact, Acquired | Available | Ended)
        )


PARTITIONS: Final = 3
BROKERS: Final = ("broker-1", "broker-2")
EVERY_MS: Final = 100.0
"""A record is written to every partition so often."""

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 1_000,
    "group.share.heartbeat.interval.ms": 1_000,
    "group.share.min.heartbeat.interval.ms": 1_000,
}
"""Of the brokers: what only costs time is short."""

LOCK_MS: Final = 8_000
"""How long a record of a share group stays hidden."""
SETTINGS_OF_LOCKS: Final = {
    "group.share.record.lock.duration.ms": LOCK_MS,
    "group.share.min.record.lock.duration.ms": LOCK_MS,
}
SETTINGS_OF_SHARE_GROUP: Final[Mapping[str, object]] = {"share.auto.offset.reset": "earliest"}


@dataclass(slots=True)
class Mark:
    """When what is judged began: the time, the place in `Exchanges.all`, and who the member was then."""

    at: Time
    place: int
    member_id: str
    refused: Message | None = None


WAITS: Final = Waits(in_place=15_000.0, reached=8_000.0, back=8_000.0, watched=3_500.0, watched_at_start=1_500.0)
"""A heartbeat of the default interval comes while we watch."""


class World(AnyWorld, Protocol):
    """What a stage needs of the world below it."""

    def move_coordinator(self) -> None:
        """Another broker is the group's coordinator from now on."""

    def expire(self, member_id: str) -> None:
        """The session of a member ends now."""

    def fence(self, transactional_id: str) -> None:
        """Another producer has begun with the id."""

    def expire_locks(self) -> None:
        """The locks of all records that members of the share group have end now."""


@dataclass(slots=True)
class Stage:
    """One situation while it is played."""

    world: World
    exchanges: Exchanges
    interference: Interference
    mark: Mark | None = None
    waits: Waits = WAITS

    @property
    def members(self) -> Members:
        """Who plays."""
        return self.world.members

    def begin(self, refused: Message | None = None) -> None:
        """What happens from now on is judged."""
        place = self.exchanges.place_after(refused)
        self.mark = Mark(self.world.now, place, self.member_id(FIRST), refused)

    def member_id(self, member: str) -> str:
        """The id under which the member spoke last; empty where it has none yet."""
        ids = [each.member_id for each in self.exchanges.of(member) if each.member_id]
        return ids[-1] if ids else ""

    def is_static(self, member: str) -> bool:
        """Whether it has asked to join as a static member."""
        joins = [each.request for each in self.exchanges.of(member) if each.joins]
        return any(getattr(join, "instance_id", None) is not None for join in joins)

    def transactional_ids(self, member: str) -> list[str]:
        """Of the producers with which it has begun, the newest last."""
        asked = [each.request.body for each in self.exchanges.of(member) if isinstance(each.request, InitProducerId)]
        return [each.transactional_id for each in asked if each.transactional_id is not None]

    def refuse(self, kind: type[Message], error: str) -> None:
        """Answer the next request of this kind of the first member with an error, and judge from then on."""

        def meant(node: str, sender: str, message: Message) -> bool:
            if type(message) is not kind or not _is_decided_on(message):
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
                good = isinstance(each.request, _IN) and each.error == NONE
            elif isinstance(each.request, _SIGNS) and each.at >= after and each.error == NONE:
                good = good or bool(each.member_id)
        return good

    def in_place(self, member: str) -> bool:
        """Whether it is in good standing and has committed, or acknowledged."""
        return self.works(member) and any(
            isinstance(each.request, OffsetCommit | TxnOffsetCommit) or bool(getattr(each.request, "acknowledged", ()))
            for each in self.exchanges.of(member)
            if each.error == NONE
        )

    def has_records(self, member: str) -> bool:
        """Whether it was given records of a share group that it has not acknowledged."""
        return member in self.exchanges.given_out().held.values()

    def is_back(self) -> bool:
        """Whether the first member is in good standing again."""
        mark = self.mark
        return mark is not None and self.works(FIRST, mark.place, mark.at + 500)


def _is_decided_on(message: Message) -> bool:
    """Not the JoinGroup of a client that is only given its member id."""
    return not isinstance(message, JoinGroup) or bool(message.member_id) or message.version < 4


_IN = (ConsumerGroupHeartbeat, ShareGroupHeartbeat, SyncGroup)
"""What makes a member with its answer."""
_SIGNS = (Heartbeat, ConsumerGroupHeartbeat, ShareGroupHeartbeat, OffsetCommit, TxnOffsetCommit)
