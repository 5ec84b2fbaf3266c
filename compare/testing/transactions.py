"""Transactions of Kafka's producers: which records are open, aborted or control records, and who may go on writing.

One per group, for the producers of every client library. The records themselves are in `compare.testing.records`; a
control record is one of them, without content.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from compare.testing.contents import Content
from compare.testing.group_interface import GroupInterface
from kafka_coordinator.catalogue import Partition
from kafka_coordinator.cluster import (
    COORDINATOR_NOT_AVAILABLE,
    Broker,
    KafkaCluster,
    OffsetsDecided,
    transactional_commit_error,
)
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.scenario.events import DeleteTopic, Event


class Membership(NamedTuple):
    """Who commits offsets within a transaction, as its consumer tells; generation -1 and no ids for a consumer that is
    nobody's member."""

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


class Session:
    """A producer with a transactional id, from ``init_transactions`` to the next one with the same id."""

    def __init__(self, transactional_id: str, timeout: Time) -> None:
        self.transactional_id, self.timeout = transactional_id, timeout
        self.is_fenced = False
        """A newer producer has the id, or the transaction has taken too long."""
        self.open: dict[Queue, list[int]] = {}
        """Partition to the offsets that the present transaction has written."""
        self.offsets: dict[Partition, tuple[int, str]] = {}
        """The offsets that it commits, with their metadata."""
        self.member: str | None = None
        """The member whose offsets they are; None: nobody's."""
        self.generation: int | None = None
        self.number = 0
        """How many transactions it has begun."""


class Transactions:
    """All transactions of a group's cluster."""

    def __init__(self, group: GroupInterface) -> None:
        self._group = group
        self._sessions: dict[str, Session] = {}
        self._hidden: dict[Queue, dict[int, bool]] = {}
        """Offsets of control records (True) and of aborted records (False)."""

    def init(self, transactional_id: str, timeout: Time) -> Session:
        """A producer begins: an older one with its id is fenced, and what that has open is aborted."""
        older = self._sessions.get(transactional_id)
        if older is not None:
            older.is_fenced = True
            self.end(older, commit=False)
        session = self._sessions[transactional_id] = Session(transactional_id, timeout)
        return session

    def begin(self, session: Session) -> None:
        """The producer begins a transaction; the coordinator hears of it with the first record or offset."""
        session.number += 1

    def wrote(self, session: Session, records: Iterable[tuple[Queue, int]]) -> None:
        self._starts(session)
        for queue, offset in records:
            session.open.setdefault(queue, []).append(offset)

    def send_offsets(
        self, session: Session, offsets: Mapping[Partition, tuple[int, str]], membership: Membership
    ) -> str:
        """Offsets that the transaction is to commit. Returns why the group's coordinator refuses them; empty where it
        takes them."""
        broker = self._coordinator()
        if broker is None:
            return COORDINATOR_NOT_AVAILABLE
        known = broker.coordinator.core.groups.get(self._group.name)
        error = transactional_commit_error(known, *membership)
        if error != "NONE":
            return error
        self._starts(session)
        session.offsets.update(offsets)
        member = None if known is None else known.members.get(membership.member_id)
        session.member = None if member is None else member.client_id
        session.generation = None if membership.generation < 0 else membership.generation
        return ""

    def end(self, session: Session, *, commit: bool) -> None:
        """The transaction is committed or aborted: a control record in every partition that it has written to."""
        opened, offsets = session.open, session.offsets
        session.open, session.offsets = {}, {}
        session.number += 1
        for queue, written in opened.items():
            if not commit:
                self._hide(queue, written, is_control=False)
        there = [queue for queue in opened if self._group.records.exists(queue)]
        for queue, offset in zip(there, self._group.records.write((each, Content()) for each in there), strict=True):
            if offset is not None:
                self._hide(queue, [offset], is_control=True)
        if commit and offsets:
            self._commit(session, offsets)

    def _commit(self, session: Session, offsets: Mapping[Partition, tuple[int, str]]) -> None:
        broker = self._coordinator()
        if broker is None:
            return
        listed = tuple([(partition, *what) for partition, what in sorted(offsets.items())])
        offsets_decided = OffsetsDecided(self._group.name, session.member, session.generation, listed)
        self._group.world.tell(broker.coordinator.core.name, offsets_decided)

    def _hide(self, queue: Queue, offsets: list[int], *, is_control: bool) -> None:
        self._hidden.setdefault(queue, {}).update(dict.fromkeys(offsets, is_control))
        self._group.records.hide(queue, offsets)

    def _starts(self, session: Session) -> None:
        """The transaction ends by itself when it takes too long; the producer is fenced then."""
        if session.open or session.offsets:
            return
        number, clock = session.number, self._group.clock

        def expire() -> None:
            if session.number == number and (session.open or session.offsets) and not session.is_fenced:
                session.is_fenced = True
                self.end(session, commit=False)

        clock.put(clock.time + session.timeout, expire)

    def _coordinator(self) -> Broker | None:
        """The broker that coordinates the group; None where none does now."""
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        for name in cluster.scenario.brokers:
            process = cluster.simulation.processes.get(name)
            if process is not None and isinstance(process.node, Broker):
                core = process.node.coordinator.core
                if core.leaders[core.partition_of(self._group.name)] == name:
                    return process.node
        return None

    # What consumers see.

    def stable_end(self, queue: Queue, end: int) -> int:
        """The last stable offset: where the first open transaction begins, else the end of the partition."""
        starts = [min(of.open[queue]) for of in self._sessions.values() if of.open.get(queue)]
        return min([end, *starts])

    def is_hidden(self, queue: Queue, offset: int, *, committed_only: bool) -> bool:
        """Whether a consumer never sees a record: a control record, or an aborted one if it reads committed ones
        only."""
        is_control = self._hidden.get(queue, {}).get(offset)
        return bool(is_control) or (is_control is False and committed_only)

    def count_hidden(self, queue: Queue, first: int, end: int, *, committed_only: bool) -> int:
        """How many records from ``first`` to ``end - 1`` a consumer never sees."""
        hidden = [each for each in self._hidden.get(queue, ()) if first <= each < end]
        return sum(self.is_hidden(queue, each, committed_only=committed_only) for each in hidden)

    def befallen(self, event: Event) -> None:
        """Something happened to the group: with a topic its records go."""
        if isinstance(event, DeleteTopic):
            gone = event.delete_topic
            self._hidden = {queue: of for queue, of in self._hidden.items() if queue.topic != gone}
            for session in self._sessions.values():
                session.open = {queue: of for queue, of in session.open.items() if queue.topic != gone}
