"""The member of a group behind a consumer whose loop is the user's: what the loop does, told to the model's client."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf

from compare.testing.group_interface import GroupInterface
from compare.testing.kafka_messages import Message, error_message, written_at
from kafka_coordinator.cluster import KafkaCluster
from kafka_coordinator.consumer import Consumer
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
from kafka_coordinator.consumer.settings import NAMES
from kafka_coordinator.consumer.state import ConsumerState, ListenerCall
from protocols.engine.nodes import Message as Command
from protocols.engine.nodes import Time
from protocols.scenario.topology import MemberKey

Partition = tuple[str, int]

_STOPPED_MS: Time = 3_600_000.0
_OF_MEMBERS = {"group.instance.id": "instance_id", "client.rack": "rack"}
_RESETS = {"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest"}
"""Other words of librdkafka's for ``auto.offset.reset``."""


class KafkaMember:
    """A member whose node waits for the user's code (`kafka_coordinator.consumer.by_hand`)."""

    def __init__(self, group: GroupInterface, member: str) -> None:
        self.name = member
        self._group = group
        self.node: Consumer | None = None
        self.read: dict[Partition, None] = {}
        """The partitions that records are taken from: those assigned and not unassigned by the user."""
        self.paused: set[Partition] = set()
        self.position: dict[Partition, int] = {}
        """Where the user's code stands: the offset after the last record that it was given."""
        self._stored: dict[Partition, int] | None = None
        """What the user's code has stored itself; None: where it stands counts as stored."""
        self._tells_ends = False
        self._ends: dict[Partition, int] = {}
        """The ends of partitions that were told."""
        self._calling = False

    @property
    def state(self) -> ConsumerState:
        """What its client knows; it has been started."""
        assert self.node is not None
        return self.node.state

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        if self.node is None:
            return True
        process = self._group.world.simulation.processes.get(self._place)
        return process is not None and process.node is self.node

    def start(self, subscription: Mapping[str, object], config: Mapping[str, object]) -> None:
        """Join with this subscription. Of ``config``, as confluent-kafka has it, what the model knows is taken."""
        self.cluster.members.by_hand.add(MemberKey(self._group.name, self.name))
        settings = {name: value for name, value in config.items() if name in NAMES}
        reset = settings.get("auto.offset.reset")
        if reset is not None:
            settings["auto.offset.reset"] = _RESETS.get(str(reset), reset)
        fields = {field: config[name] for name, field in _OF_MEMBERS.items() if config.get(name)}
        more = {"settings": settings} if settings else {}
        self._group.happen(join=self.name, **subscription, **fields, **more)
        self.node = self.cluster.consumer(self._place)
        self._tells_ends = _is_on(config.get("enable.partition.eof", False))
        if not _is_on(config.get("enable.auto.offset.store", True)):
            self.store({})

    @property
    def stored(self) -> Mapping[Partition, int]:
        """What a commit is of that names no offsets."""
        return self.position if self._stored is None else self._stored

    @property
    def stores_itself(self) -> bool:
        """Whether the user's code says what is stored."""
        return self._stored is not None

    def store(self, offsets: Mapping[Partition, int]) -> None:
        """These offsets are stored, beside those that are."""
        self._stored = {**(self._stored or {}), **offsets}
        self.tell(Store(tuple(self._stored.items())))

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Read these as nobody's member."""
        self.read = dict.fromkeys(partitions)
        self.paused &= self.read.keys()
        self._ends = {}
        self.position = {each: at for each, at in self.position.items() if each in self.read}
        self.tell(Assign(tuple(self.read)))

    def tell(self, command: Command) -> None:
        """A command to its client."""
        self._group.world.tell(self._place, command)

    def live(self, until: Time, stop: Callable[[], bool]) -> None:
        """Let time pass up to ``until``, until ``stop`` says so, or the process is killed."""
        self._group.clock.run(until, self._group.world, lambda: stop() or not self.is_alive)

    @property
    def _is_hung(self) -> bool:
        process = self._group.world.simulation.processes.get(self._place)
        return process is not None and process.hung

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        while self.node is not None and self.is_alive and self._is_hung:
            self.live(self._group.clock.time + _STOPPED_MS, lambda: not self._is_hung)

    # Records.

    def poll(
        self, most: int, until: Time, run_listener: Callable[[ListenerCall], None], *, fatal_told: bool
    ) -> list[Message]:
        """Be in poll() until ``most`` records are there, ``until`` is reached, or the client has failed for good and
        the user was not told."""
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
        return user.listener_call is not None or bool(user.fatal) or moved or self._is_hung

    def seek(self, offsets: Iterable[tuple[Partition, int]]) -> None:
        """Read on from these offsets."""
        listed = tuple(offsets)
        self.position.update(listed)
        for partition, _ in listed:
            self._ends.pop(partition, None)
        self.tell(Seek(listed))

    def end_offset(self, partition: Partition, at: Time | None = None) -> int:
        """The offset of the next record that will be written; or that would have been at an earlier time."""
        return self.cluster.topics.load.production(partition).end_offset(self._group.clock.time if at is None else at)

    def _reached_ends(self, most: int) -> list[Message]:
        """That partitions were read to their ends, once for each end, where the user wants to be told."""
        if not self._tells_ends:
            return []
        found: list[Message] = []
        for partition, each in self.state.subscription.positions.items():
            reads = partition in self.read and partition not in self.paused
            if len(found) < most and reads and self._ends.get(partition) != each.start == self.end_offset(partition):
                self._ends[partition] = each.start
                found.append(error_message("_PARTITION_EOF", "Broker: No more messages", (*partition, each.start)))
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
            found.append(Message(*record, value, key, at, None, self.name, headers))
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
        self.tell(CommitNow(tuple(offsets.items())))

    def committed_now(self) -> str:
        """Wait for the answer to the commit. Empty where it was taken, else how it came out."""
        state = self.state
        until = self._group.clock.time + state.config.settings.default_api_timeout_ms + 1
        self.live(until, lambda: state.commits.by_user is None)
        return "" if not self.is_alive or state.commits.outcome == DONE else state.commits.outcome

    def committed(self) -> dict[Partition, int]:
        """The group's committed offsets."""
        commits = self._group.timeline.commits
        return {(each.queue.topic, each.queue.number): each.offset for each in commits if each.taken}

    # Listeners.

    def serve(self, run_listener: Callable[[ListenerCall], None]) -> None:
        """Run the user's listeners that the client waits for, one after the other; not from within a listener."""
        while self.node is not None and self.is_alive and not self._calling:
            called = self.state.user.listener_call
            if called is None:
                return
            if called.kind == ASSIGNED:
                self.read.update(dict.fromkeys(called.partitions))
                self.paused.difference_update(called.partitions)
            self._calling = True
            try:
                run_listener(called)
            finally:
                self._calling = False
                if self.is_alive:
                    self._returned(called)

    def _returned(self, called: ListenerCall) -> None:
        """A listener has returned, or raised: the client goes on."""
        if called.kind != ASSIGNED:
            for each in called.partitions:
                self.read.pop(each, None)
                self.position.pop(each, None)
                self._ends.pop(each, None)
                if self._stored is not None:
                    self._stored.pop(each, None)
            if self._stored is not None:
                self.store({})
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

    @property
    def cluster(self) -> KafkaCluster:
        """Where it lives."""
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        return cluster

    @property
    def _place(self) -> str:
        return self.cluster.topology.node[MemberKey(self._group.name, self.name)]


def _is_on(given: object) -> bool:
    """A switch of the configuration: a truth value, or librdkafka's words for one."""
    return str(given).strip().lower() in ("true", "t", "1")
