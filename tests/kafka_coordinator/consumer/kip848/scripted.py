"""A consumer of the consumer protocol with a coordinator that says what the test tells it to say."""

from typing import Any

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL
from kafka_coordinator.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from protocols.facts import Transition
from tests.kafka_coordinator.consumer.scripted import Scripted

INTERVAL = 5_000


class ScriptedMember(Scripted):
    """`Scripted` with ``group.protocol=consumer``."""

    def __init__(self, **config: Any) -> None:
        settings = {"group.protocol": "consumer", **config.pop("settings", {})}
        super().__init__(settings=settings, **config)

    def beats(
        self,
        epoch: int | None = None,
        assignment: tuple[Partition, ...] | None = None,
        error: str = "NONE",
        interval: int = INTERVAL,
    ) -> ConsumerGroupHeartbeat:
        """Answer the first heartbeat; without ``epoch`` the member's own."""
        request = self.take(ConsumerGroupHeartbeat)
        answered = request.member_epoch if epoch is None else epoch
        self.answer(
            ConsumerGroupHeartbeatAnswer(request.correlation, error, request.member_id, answered, interval, assignment)
        )
        return request

    def next_beat(self) -> None:
        """The interval is over."""
        self.wait(INTERVAL)

    def member(self, *partitions: Partition, epoch: int = 1, interval: int = INTERVAL) -> None:
        """From the start to a stable membership that owns these partitions."""
        self.metadata()
        self.coordinator()
        self.beats(epoch, partitions, interval=interval)
        self.beats(interval=interval)
        if partitions:
            self.offsets(0)
        self.told.clear()

    @property
    def member_state(self) -> str:
        return self.state.membership.state

    def steps(self) -> list[tuple[str, str, str]]:
        """The transitions that were told since `told` was cleared."""
        return [
            (fact.before, fact.event, fact.after)
            for fact in self.told
            if isinstance(fact, Transition) and fact.machine == CONSUMER_PROTOCOL.name
        ]
