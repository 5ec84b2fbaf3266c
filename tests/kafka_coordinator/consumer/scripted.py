"""A consumer with a coordinator that says what the test tells it to say."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import Consumer, ConsumerConfig, ConsumerSettings, Load
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.messages import (
    ConsumerMetadata,
    CoordinatorFound,
    FindCoordinator,
    Heartbeat,
    HeartbeatAnswer,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    MetadataAnswer,
    MetadataRequest,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from protocols.engine.nodes import Message
from protocols.engine.single import Choose, SingleNode, first_option
from protocols.facts import Callback, Owns

M = TypeVar("M", bound=Message)

BROKER = "b1"


class Scripted:
    """Requests that the consumer sent and nobody answered wait in `asked`; `answer` takes the first of a kind."""

    def __init__(
        self,
        *,
        start: float = 0.0,
        brokers: tuple[str, ...] = (BROKER,),
        existing: dict[str, int] | None = None,
        poll_timeout_ms: int = 100,
        **config: Any,
    ) -> None:
        settings = replace(ConsumerSettings.of(config.pop("settings", {})), poll_timeout_ms=poll_timeout_ms)
        config.setdefault("topics", ("t",))
        config.setdefault("load", Load(config.pop("rate", 0.0)))
        choose: Choose = config.pop("choose", first_option)
        given = ConsumerConfig("c1", "g", brokers, client_id="c1", settings=settings, **config)
        self.world = SingleNode(Consumer(given), choose=choose)
        self.topics = {"t": 4} if existing is None else existing
        self.brokers = brokers
        self.asked: list[tuple[str, Message]] = []
        self.told: list[tuple[Any, ...]] = []
        self.world.start(start)
        self._collect()

    @property
    def now(self) -> float:
        return self.world.now

    @property
    def state(self) -> ConsumerState:
        return self.world.node.state

    def _collect(self) -> None:
        self.asked += [(sent.to, sent.message) for sent in self.world.take_sent()]
        self.told += [told.fact for told in self.world.take_facts()]

    def wait(self, milliseconds: float) -> None:
        """Time passes; nobody answers."""
        self.world.advance(self.now + milliseconds)
        self._collect()

    def command(self, message: Message) -> None:
        self.world.command(self.now, message)
        self._collect()

    def closed(self, peer: str = BROKER) -> None:
        """The connection is gone, and with it the requests."""
        self.world.closed(self.now, peer)
        self.asked = [each for each in self.asked if each[0] != peer]
        self._collect()

    def take(self, kind: type[M]) -> M:
        """The first unanswered request of this kind."""
        for at, (_, message) in enumerate(self.asked):
            if isinstance(message, kind):
                del self.asked[at]
                return message
        raise AssertionError(f"no {kind.__name__} among {self.asked}")

    def kinds(self) -> list[str]:
        """What was asked and not answered."""
        return [type(message).__name__ for _, message in self.asked]

    def answer(self, message: Message, sender: str = BROKER) -> None:
        self.world.receive(self.now, sender, message)
        self._collect()

    # Answers.

    def metadata(self, **topics: int) -> None:
        request = self.take(MetadataRequest)
        self.topics.update(topics)
        found = {
            topic: (BROKER,) * count
            for topic, count in self.topics.items()
            if request.topics is None or topic in request.topics
        }
        self.answer(MetadataAnswer(request.correlation, self.brokers, found))

    def coordinator(self, error: str = "NONE", broker: str = BROKER) -> None:
        request = self.take(FindCoordinator)
        self.answer(CoordinatorFound(request.correlation, error, broker if error == "NONE" else ""))

    def joined(
        self,
        generation: int = 1,
        *,
        leader: str = "other",
        error: str = "NONE",
        protocol: str | None = None,
        members: Iterable[JoinedMember] = (),
        member_id: str | None = None,
        skip: bool = False,
    ) -> JoinGroup:
        request = self.take(JoinGroup)
        id = request.member_id or "c1-0" if member_id is None else member_id
        name = request.protocols[0][0] if protocol is None else protocol
        self.answer(
            JoinGroupAnswer(request.correlation, error, generation, id, leader, "consumer", name, skip, tuple(members))
        )
        return request

    def synced(self, *partitions: Partition, error: str = "NONE") -> SyncGroup:
        request = self.take(SyncGroup)
        self.answer(SyncGroupAnswer(request.correlation, error, "consumer", request.protocol, partitions))
        return request

    def beat(self, error: str = "NONE") -> Heartbeat:
        request = self.take(Heartbeat)
        self.answer(HeartbeatAnswer(request.correlation, error))
        return request

    def committed(self, error: str = "NONE") -> OffsetCommit:
        request = self.take(OffsetCommit)
        errors = tuple((partition, error) for partition, _, _ in request.offsets)
        self.answer(OffsetCommitAnswer(request.correlation, errors))
        return request

    def offsets(self, offset: int = -1, error: str = "NONE") -> OffsetFetch:
        request = self.take(OffsetFetch)
        found = tuple((partition, offset, "NONE") for partition in request.partitions or ())
        self.answer(OffsetFetchAnswer(request.correlation, error, found if error == "NONE" else ()))
        return request

    def left(self) -> LeaveGroup:
        request = self.take(LeaveGroup)
        self.answer(
            LeaveGroupAnswer(request.correlation, "NONE", tuple((id, i, "NONE") for id, i, _ in request.members))
        )
        return request

    # Whole stories.

    def stable(self, *partitions: Partition, generation: int = 1, offset: int = 0) -> None:
        """From the start to a stable membership that owns these partitions."""
        self.metadata()
        self.coordinator()
        self.joined(error="MEMBER_ID_REQUIRED", member_id="c1-0")
        self.joined(generation)
        self.synced(*partitions)
        if partitions:
            self.offsets(offset)
        self.told.clear()

    def hears_of_rebalance(self) -> None:
        """The next heartbeat is answered with REBALANCE_IN_PROGRESS."""
        self.wait(self.state.config.settings.heartbeat_interval_ms)
        self.beat("REBALANCE_IN_PROGRESS")

    def callbacks(self) -> list[tuple[str, tuple[Partition, ...]]]:
        """The user's callbacks since the last call of this."""
        found = [
            (fact.kind, tuple((queue.topic, queue.number) for queue in fact.queues))
            for fact in self.told
            if isinstance(fact, Callback)
        ]
        self.told = [fact for fact in self.told if not isinstance(fact, Callback)]
        return found

    def belief(self) -> list[tuple[Partition, ...]]:
        """All beliefs told so far."""
        return [
            tuple((queue.topic, queue.number) for queue in fact.queues) for fact in self.told if isinstance(fact, Owns)
        ]


def member(id: str, *topics: str, instance_id: str | None = None, **metadata: Any) -> JoinedMember:
    """A line of the list that the leader gets."""
    return JoinedMember(id, instance_id, ConsumerMetadata(topics or ("t",), **metadata))
