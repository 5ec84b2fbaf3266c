"""An administrator with Kafka's own tools: ``kafka-consumer-groups --reset-offsets`` as a node (spec 2.12, 2.13).

The tool asks for the coordinator and the group's state, and commits offsets as nobody's member. Kafka takes them only
for a group without members.

In Kafka `ConsumerGroupCommand` and `KafkaAdminClient`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.facts import Noted
from protocols.node_state import NodeState

FIND_AGAIN_MS = 100.0
"""``retry.backoff.ms`` of the tool."""


class ResetOffsets(NamedTuple):
    """The group's committed offsets are to be these."""

    group: str
    offsets: tuple[tuple[Partition, int], ...]


@dataclass(slots=True, eq=False)
class Admin(NodeState):
    """Does one task after the other; each result is observed as `protocols.facts.Noted`."""

    bootstrap: tuple[str, ...]
    broker: str = ""
    """The group's coordinator, where it is known."""
    number: int = 0
    todo: tuple[ResetOffsets, ...] = ()

    def start(self, now: Time, out: Outbox) -> None:
        """Nothing to do yet."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, ResetOffsets):
            self.todo = (*self.todo, message)
            if len(self.todo) == 1:
                self._begin(now, out)
        elif self.todo and message[0] == self.number:
            self._answered(now, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self._begin(now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Asked again after a pause."""
        if self.todo:
            self._pause(now, out)

    def _begin(self, now: Time, out: Outbox) -> None:
        group = self.todo[0].group
        self._ask(out.choose("broker", self.bootstrap), messages.FindCoordinator(self.number + 1, group), out)

    def _ask(self, broker: str, message: Message, out: Outbox) -> None:
        self.number += 1
        out.send(broker, message)

    def _pause(self, now: Time, out: Outbox) -> None:
        self.number += 1  # an answer that still comes is not waited for
        out.set_timer("again", now + FIND_AGAIN_MS)

    def _answered(self, now: Time, message: Message, out: Outbox) -> None:
        group, offsets = self.todo[0]
        if isinstance(message, messages.CoordinatorFound):
            if message.error == "NONE":
                self.broker = message.broker
                self._ask(self.broker, messages.DescribeGroup(self.number + 1, group), out)
            else:
                self._pause(now, out)
        elif isinstance(message, messages.DescribeGroupAnswer):
            if message.error in ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"):
                self._pause(now, out)
            elif message.state not in ("Empty", "Dead"):
                self._done(f"offsets of {group} are not reset: the group is {message.state}, not empty", now, out)
            else:
                listed = tuple([(partition, offset, "") for partition, offset in offsets])
                self._ask(self.broker, messages.OffsetCommit(self.number + 1, group, "", -1, None, listed), out)
        elif isinstance(message, messages.OffsetCommitAnswer):
            errors = dict.fromkeys(error for _, error in message.errors if error != "NONE")
            how = f"not reset: {', '.join(errors)}" if errors else "reset"
            self._done(f"offsets of {group} are {how}", now, out)

    def _done(self, text: str, now: Time, out: Outbox) -> None:
        out.observe(Noted(text))
        self.todo = self.todo[1:]
        if self.todo:
            self._begin(now, out)
