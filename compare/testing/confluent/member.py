"""The member of a group behind a consumer whose loop is the user's: what the loop does, told to the model's client."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf
from typing import NamedTuple

from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.messages import EPOCH, TIMESTAMP_CREATE_TIME, Message, error_message, made, written_at
from compare.testing.group_interface import GroupInterface
from compare.testing.kafka_node import KafkaNode, Partition
from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer.callbacks import ASSIGNED
from kafka_coordinator.consumer.commands import (
    Assign,
    BeginPoll,
    CommitNow,
    EndPoll,
    Handle,
    ListenerReturned,
    Seek,
    Store,
)
from kafka_coordinator.consumer.commits import DONE
from kafka_coordinator.consumer.state import ListenerCall
from protocols.engine.nodes import Time
from protocols.scenario.topology import MemberKey

_NO_OFFSET, _FROM_COMMITTED = -1001, -1000


class Stored(NamedTuple):
    """An offset that a commit without offsets of its own is of."""

    offset: int
    epoch: int | None = None
    metadata: str | None = None


class KafkaMember(KafkaNode):
    """A member whose node waits for the user's code (`kafka_coordinator.consumer.by_hand`)."""

    def __init__(self, group: GroupInterface, member: str) -> None:
        super().__init__(group, member)
        self.read: dict[Partition, int] = {}
        """The partitions that records are taken from (those assigned and not unassigned by the user) to the offset that
        the user named; `OFFSET_INVALID` where none."""
        self.once_read: set[Partition] = set()
        """Partitions that were read at some time and then taken away."""
        self.paused: set[Partition] = set()
        self.position: dict[Partition, int] = {}
        """Where the user's code stands: the offset after the last record that it was given."""
        self.stored: dict[Partition, Stored] = {}
        """What a commit is of that names no offsets."""
        self.stores_itself = False
        """Whether the user's code says what is stored."""
        self._tells_ends = False
        self._ends: dict[Partition, int] = {}
        """The ends of partitions that were told."""
        self.calling: ListenerCall | None = None
        """The listener that runs now."""
        self.answered = False
        """Whether it has said itself what is to be read."""
        self.afterwards: Callable[[], None] | None = None
        """What is to happen when it has returned."""

    def start(self, subscription: Mapping[str, object], configuration: Configuration) -> None:
        """Join with this subscription."""
        self.cluster.members.by_hand.add(MemberKey(self._group.name, self.name))
        settings = dict(configuration.settings)
        more = {"settings": settings} if settings else {}
        self._group.happen(join=self.name, **subscription, **configuration.fields, **more)
        self.node = self.cluster.consumer(self.place)
        self._tells_ends, self.stores_itself = configuration.tells_ends, configuration.stores_itself
        self.store({})

    def store(self, offsets: Mapping[Partition, Stored]) -> None:
        """These offsets are stored, beside those that are."""
        self.stored.update(offsets)
        self.tell(Store(tuple([(partition, each.offset) for partition, each in self.stored.items()])))

    def assign(self, partitions: Mapping[Partition, int], *, anew: bool = True) -> None:
        """Read these as nobody's member; ``anew``: not from where some of them were read to before."""
        kept = {} if anew else {each: at for each, at in self.position.items() if each in partitions}
        self.read = dict(partitions)
        self.paused &= self.read.keys()
        self._ends = {}
        self.position = kept
        self.stored = {each: at for each, at in self.stored.items() if each in kept}
        self.tell(Assign(tuple([each for each in self.read if self.exists(each)])))
        self.store({})

    def named(self, partition: Partition) -> int:
        """The offset that ``assignment`` tells of a partition: what the user named, else the committed one."""
        named = self.read[partition]
        return _FROM_COMMITTED if named == _NO_OFFSET and partition in self.state.subscription.positions else named

    # Records.

    def poll(
        self, most: int, until: Time, run_listener: Callable[[ListenerCall], None], *, fatal_told: bool
    ) -> list[Message]:
        """Be in poll() until ``most`` records are there, ``until`` is reached, or the client has failed for good and
        the user was not told. In a listener nothing comes."""
        if self.calling is not None:
            self.live(until, lambda: False)
            return []
        self.tell(BeginPoll())
        try:
            found: list[Message] = []
            while True:
                self.wake()
                self.serve(run_listener)
                if not self.is_alive or (self.state.user.fatal and not fatal_told):
                    return found
                if self.state.user.fatal:
                    self.live(until, lambda: False)
                    return found
                self._reset_beyond()
                found += self._due(most - len(found))
                found += self._reached_ends(most - len(found))
                if len(found) >= most or self._group.clock.time >= until:
                    return found
                due = min((at for at, _ in self._nexts()), default=inf)
                subscription = self.state.subscription
                elsewhere = partial(self._wants_user, subscription.positions, subscription.unpositioned)
                self.live(min(until, due), elsewhere)
        finally:
            if self.is_alive:
                self.tell(EndPoll())

    def _wants_user(self, positions: object, unpositioned: object) -> bool:
        """Whether the client has something for the user's thread, or reads elsewhere than before."""
        subscription, user = self.state.subscription, self.state.user
        moved = subscription.positions is not positions or subscription.unpositioned is not unpositioned
        return user.listener_call is not None or bool(user.fatal) or moved or self.is_hung

    def seek(self, offsets: Iterable[tuple[Partition, int]]) -> None:
        """Read on from these offsets."""
        listed = tuple(offsets)
        for partition, _ in listed:
            self.position.pop(partition, None)
            self._ends.pop(partition, None)
        self.tell(Seek(listed))

    def reset_offset(self, partition: Partition) -> int:
        """Where ``auto.offset.reset`` says that reading begins."""
        return 0 if self.state.config.settings.auto_offset_reset == "earliest" else self.end_offset(partition)

    def _reset_beyond(self) -> None:
        """Positions beyond the end of their partitions are reset."""
        positions = self.state.subscription.positions
        beyond = [each for each, at in positions.items() if each in self.read and at.start > self.end_offset(each)]
        if beyond:
            self.seek([(each, self.reset_offset(each)) for each in beyond])

    def _reached_ends(self, most: int) -> list[Message]:
        """That partitions were read to their ends, once for each end, where the user wants to be told."""
        if not self._tells_ends:
            return []
        found: list[Message] = []
        for partition, each in self.state.subscription.positions.items():
            reads = partition in self.read and partition not in self.paused
            if len(found) < most and reads and self._ends.get(partition) != each.start == self.end_offset(partition):
                self._ends[partition] = end = each.start
                broker = self.broker_id(partition)
                said = f"Fetch from broker {broker} reached end of partition at offset {end} (HighwaterMark {end})"
                found.append(error_message("_PARTITION_EOF", said, (*partition, end)))
        return found

    def _due(self, most: int) -> list[Message]:
        """Records that are there, the oldest first."""
        found: list[Message] = []
        plan, now = self._group.plan, self._group.clock.time
        while len(found) < most:
            ready = [(at, partition) for at, partition in self._nexts() if at <= now]
            if not ready:
                break
            at, partition = min(ready)
            offset = self.state.subscription.positions[partition].start
            self.tell(Handle(partition, offset, offset + 1))
            self.position[partition] = offset + 1
            record = *partition, offset
            value, key, headers = plan.value(*record), plan.key(*record), plan.headers(*record)
            if not self.stores_itself:
                self.stored[partition] = Stored(offset + 1, EPOCH)
            fields = {"topic": record[0], "partition": record[1], "offset": offset, "leader_epoch": EPOCH}
            time = TIMESTAMP_CREATE_TIME, int(at)
            found.append(made(self.name, **fields, key=key, value=value, headers=headers, timestamp=time))
        if found and not self.stores_itself:
            self.store({})
        return found

    def _nexts(self) -> Iterable[tuple[Time, Partition]]:
        """When the next record of each partition that is read is there."""
        for partition, each in self.state.subscription.positions.items():
            if partition in self.read and partition not in self.paused:
                at = written_at(self.state.load.production(partition), each.start)
                if at is not None:
                    yield at, partition

    # Commits.

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Send a commit; nobody waits for its answer yet."""
        state = self.state
        if state.membership.generation == NO_GENERATION and not {*state.subscription.topics, *self.read}:
            self.tell(Assign(tuple(offsets)))  # Nobody's member, who has the coordinator looked up.
        self.tell(CommitNow(tuple(offsets.items())))

    def committed_now(self) -> str:
        """Wait for the answer to the commit. Empty where it was taken, else how it came out."""
        state = self.state
        until = self._group.clock.time + state.config.settings.default_api_timeout_ms + 1
        self.live(until, lambda: state.commits.by_user is None)
        return "" if not self.is_alive or state.commits.outcome == DONE else state.commits.outcome

    # Listeners.

    def says_nothing(self, called: ListenerCall) -> bool:
        """Whether librdkafka leaves the call out, which Java's client makes: that of an assignment of nothing under the
        consumer protocol, where nothing was revoked, either."""
        protocol = self.state.kip848
        if protocol is None or called.kind != ASSIGNED or called.partitions:
            return False
        return protocol.reconciliation is None or not protocol.reconciliation.revoked

    def serve(self, run_listener: Callable[[ListenerCall], None]) -> None:
        """Run the user's listeners that the client waits for, one after the other; not from within a listener."""
        while self.node is not None and self.is_alive and self.calling is None:
            called = self.state.user.listener_call
            if called is None:
                return
            if called.kind == ASSIGNED:
                self.paused.difference_update(called.partitions)
            self.calling, self.answered = called, False
            try:
                run_listener(called)
            finally:
                self.calling = None
                if self.is_alive:
                    self._returned(called)
                afterwards, self.afterwards = self.afterwards, None
                if afterwards is not None:
                    afterwards()

    def _returned(self, called: ListenerCall) -> None:
        """A listener has returned, or raised: the client goes on."""
        if called.kind != ASSIGNED:
            self.once_read.update(called.partitions)
            for each in called.partitions:
                self.read.pop(each, None)
                self.position.pop(each, None)
                self._ends.pop(each, None)
                self.stored.pop(each, None)
            self.store({})
        elif not self.answered and self.state.config.topics + self.state.subscription.topics:
            self.read.update(dict.fromkeys(called.partitions, _NO_OFFSET))
        self.tell(ListenerReturned())

    def close(self, run_listener: Callable[[ListenerCall], None]) -> None:
        """Commit, run the listeners, leave."""
        node = self.node
        if node is None or node.is_over:
            return
        self._group.happen(leave=self.name)
        until = self._group.clock.time + 2 * self.state.config.settings.close_timeout_ms
        while not node.is_over and self.is_alive and self._group.clock.time < until:
            self.serve(run_listener)
            self.live(until, lambda: node.is_over or node.state.user.listener_call is not None)
