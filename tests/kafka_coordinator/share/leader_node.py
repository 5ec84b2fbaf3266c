"""A leader of share-partitions as a node, with logs that a test writes to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import NONE, NOT_LEADER_OR_FOLLOWER
from kafka_coordinator.share import Call, DeadLetter, ShareLeader, requests
from kafka_coordinator.share.fetching import look
from kafka_coordinator.share.messages import ShareAcknowledgeAnswer, ShareFetch, ShareFetchAnswer
from kafka_coordinator.share.persister import ShareStates
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.single import SingleNode
from protocols.facts import Acquired, Available, Ended

P, Q = ("t", 0), ("t", 1)


@dataclass
class Logs:
    """A record is one byte and a batch of its own."""

    ends: dict[Partition, int] = field(default_factory=lambda: {P: 0, Q: 0})
    buried: list[tuple[int, int]] = field(default_factory=list)

    def error(self, partition: Partition) -> str:
        return NONE if partition in self.ends else NOT_LEADER_OR_FOLLOWER

    def leader_epoch(self, partition: Partition) -> int:
        return 0

    def start(self, partition: Partition) -> int:
        return 0

    def end(self, partition: Partition, only_committed: bool = False) -> int:
        return self.ends[partition]

    def read(self, partition: Partition, offset: int, max_bytes: int, end: int) -> Sequence[tuple[int, int]]:
        return [(each, each) for each in range(offset, end)]

    def aborted(self, partition: Partition, read: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
        return ()

    def size(self, partition: Partition, offset: int, end: int) -> int:
        return end - offset

    def comes(self, partition: Partition, offset: int) -> Time | None:
        return None

    def offset_at(self, partition: Partition, time: Time) -> int:
        return 0

    def bury(self, group: str, partition: Partition, letter: DeadLetter) -> None:
        self.buried.append((letter.piece.first, letter.piece.last))


@dataclass
class LeaderNode:
    """The node. `write` is a command."""

    leader: ShareLeader
    logs: Logs

    def start(self, now: Time, out: Outbox) -> None: ...

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, Write):
            self.logs.ends[message[0]] += message[1]
            look(self.leader, Call(now, self.logs, out), [message[0]])
        else:
            requests.receive(self.leader, Call(now, self.logs, out), sender, message)  # type: ignore[arg-type]

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        requests.timeout(self.leader, Call(now, self.logs, out), timer)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        requests.closed(self.leader, Call(now, self.logs, out), peer)


class Write(tuple[Partition, int]):
    """So many records come to a partition."""


class Leader(SingleNode[LeaderNode]):
    """The leader of two partitions of ``t`` for group ``g``, each with ``records``, from offset 0 on."""

    def __init__(self, records: int = 0, **own: object) -> None:
        states = ShareStates()
        for partition in (P, Q):
            states.initialize("g", partition, 2, 0)
        logs = Logs({P: records, Q: records})
        super().__init__(LeaderNode(ShareLeader(states, group_settings={"g": own}), logs))
        self.states = states

    def fetch(self, member: str, epoch: int, now: Time, **fields: object) -> None:
        asked = ShareFetch(len(self.sent), "g", member, epoch, client_id=member)
        self.receive(now, member, asked._replace(**fields))  # type: ignore[arg-type]

    def answers(self) -> list[tuple[str, object]]:
        """To whom, and what: an error, or partitions with what was acquired."""
        found: list[tuple[str, object]] = []
        for _, to, message in self.take_sent():
            assert isinstance(message, ShareFetchAnswer | ShareAcknowledgeAnswer)
            if message.error != NONE:
                found.append((to, message.error))
            elif isinstance(message, ShareFetchAnswer):
                found.append((to, {each.partition: each.acquired for each in message.partitions}))
            else:
                found.append((to, dict(message.partitions)))
        return found

    def told(self) -> list[str]:
        """Facts in short: what became of which records, and why."""
        short: list[str] = []
        for _, fact in self.take_facts():
            if isinstance(fact, Acquired):
                short.append(f"{fact.member} {fact.first}-{fact.end - 1} try {fact.attempt} until {fact.until:.0f}")
            elif isinstance(fact, Available):
                short.append(f"{fact.member} {fact.first}-{fact.end - 1} {fact.why}")
            elif isinstance(fact, Ended):
                short.append(f"{fact.member} {fact.first}-{fact.end - 1} {fact.how}")
        return short
