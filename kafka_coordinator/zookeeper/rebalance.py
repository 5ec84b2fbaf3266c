"""One consumer's rebalance: a sequence of requests to ZooKeeper, each its own, each answered before the next.

Spec 7.3. What it reads is not one picture of the group: others register, leave and release between two reads. A
`Rebalance` knows which requests are left in its stage and what the answers so far have brought; when a stage is
through, `advance` enters the next. It does nothing itself: the consumer's `Rebalancer` sends, stops and starts
fetching, waits. A try that fails is followed by another after a pause, up to ``rebalance.max.retries`` of them.

In Kafka 0.8 `ZookeeperConsumerConnector.ZKRebalancerListener` (`syncedRebalance`, `rebalance`,
`reflectPartitionOwnershipDecision`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.connection import Connection, Watching
from kafka_coordinator.zookeeper.consumption import Consumption, as_queues
from kafka_coordinator.zookeeper.messages import Request, SetData
from kafka_coordinator.zookeeper.settings import STRATEGIES, AssignFunction, CannotAssign, ConsumerSettings
from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Committed, Granted, Noted, RebalanceBegan, RebalanceEnded
from protocols.java import Queue
from protocols.node_state import NodeState, Shared


class Stage(Enum):
    """What a rebalance is doing, in this order; `UNDO` only where a claim was refused."""

    BROKERS = "reads the brokers"
    COMMIT = "commits offsets"
    RELEASE = "deletes its owner nodes"
    PARTITIONS = "reads its topics"
    GROUP = "reads the members"
    REGISTRATIONS = "reads the members' subscriptions"
    TOPICS = "reads the topics that patterns may match"
    OFFSETS = "reads offsets"
    CLAIM = "creates owner nodes"
    UNDO = "deletes the owner nodes it created"
    DONE = "owns what it claimed"
    NO_BROKER = "has no broker to fetch from"
    WAITING = "waits for the next try"


class Failed(Exception):  # noqa: N818 - the try has failed, the program has not
    """This try has failed, for a reason in a few words."""


@dataclass(slots=True, init=False, eq=False)
class Rebalance(NodeState):
    """One run of up to ``rebalance.max.retries`` tries of one consumer.

    ``trigger``: why it began, in a few words. ``topics``: its own.
    """

    trigger: str
    _group: str
    _consumer_id: str
    _topics: tuple[str, ...]
    _assign: AssignFunction
    attempt: int
    stage: Stage
    todo: list[messages.Request]
    """Requests of this stage that are not answered yet; their correlation is given when they are sent."""
    partitions: dict[str, int]
    names: tuple[str, ...]
    """The children that were read last."""
    registrations: dict[str, messages.Registration]
    share: dict[Partition, str]
    """Partition to the thread that is to own it."""
    offsets: dict[Partition, int]
    """Stored offsets; -1: none."""
    claimed: list[Partition]
    refused: str
    """The path of a claim that was refused."""
    doubted: Shared[object]
    """What was to be written to the node that is there already, and that is read now."""

    def __init__(
        self, trigger: str, group: str, consumer_id: str, topics: tuple[str, ...], assign: AssignFunction
    ) -> None:
        self.trigger = trigger
        self._group, self._consumer_id, self._topics, self._assign = group, consumer_id, topics, assign
        self.attempt = 0
        self.begin()

    def begin(self) -> None:
        """Begin a try: forget what the one before has read."""
        self.stage = Stage.BROKERS
        self.todo = [messages.GetChildren(0, messages.BROKERS)]
        self.partitions, self.names, self.registrations = {}, (), {}
        self.share, self.offsets, self.claimed = {}, {}, []
        self.refused, self.doubted = "", None

    def take(self, answer: Message) -> None:
        """The answer to the first request that was left. Raises `Failed` where a node that was read is gone."""
        request = self.todo.pop(0)
        match request, answer:
            case messages.GetData(), messages.DataAnswer() if self.stage is Stage.OFFSETS:
                self.offsets[_partition(request.path)] = -1 if answer.error else answer.data
            case messages.GetData(), messages.DataAnswer() if self.stage is Stage.PARTITIONS:
                self.partitions[request.path.rpartition("/")[2]] = 0 if answer.error else answer.data
            case messages.GetData(), messages.DataAnswer() if self.stage is Stage.CLAIM:
                # A node with our own name in it: the answer to an earlier attempt was lost.
                if answer.error or answer.data != self.doubted:
                    self.refused = self.refused or request.path
                else:
                    self.claimed.append(_partition(request.path))
            case messages.GetData(), messages.DataAnswer() if answer.error:
                raise Failed(f"{request.path} is gone")
            case messages.GetData(), messages.DataAnswer():
                self.registrations[request.path.rpartition("/")[2]] = answer.data
            case messages.GetChildren(), messages.ChildrenAnswer():
                self.names = answer.names
            case messages.Create(), messages.Done() if answer.error:
                self.doubted = request.data
                self.todo.insert(0, messages.GetData(0, request.path))
            case messages.Create(), messages.Done():
                self.claimed.append(_partition(request.path))
            case _:
                pass

    def advance(self) -> Stage:
        """Enter the next stage, with what it asks in `todo`. Raises `Failed`.

        What is the consumer's own to do in a stage is left to it: before `COMMIT` it stops fetching and says what to
        commit (`also_ask`), in `RELEASE` what to give up; at `DONE` it starts fetching.
        """
        match self.stage:
            case Stage.BROKERS:
                self._enter(Stage.COMMIT if self.names else Stage.NO_BROKER)
            case Stage.COMMIT:
                self._enter(Stage.RELEASE)
            case Stage.RELEASE:
                self._enter(Stage.PARTITIONS, [messages.GetData(0, messages.topic(topic)) for topic in self._topics])
            case Stage.PARTITIONS:
                self._enter(Stage.GROUP, [messages.GetChildren(0, messages.members(self._group))])
            case Stage.GROUP:
                self._enter(
                    Stage.REGISTRATIONS,
                    [messages.GetData(0, messages.member(self._group, name)) for name in self.names],
                )
            case Stage.REGISTRATIONS if any(
                registration.pattern is not None for registration in self.registrations.values()
            ):
                self._enter(Stage.TOPICS, [messages.GetChildren(0, messages.TOPICS)])
            case Stage.REGISTRATIONS | Stage.TOPICS:
                self._compute()
                self._enter(
                    Stage.OFFSETS, [messages.GetData(0, messages.offset(self._group, *each)) for each in self.share]
                )
            case Stage.OFFSETS:
                claims = [
                    messages.Create(0, messages.owner(self._group, *key), thread) for key, thread in self.share.items()
                ]
                self._enter(Stage.CLAIM, claims)
            case Stage.CLAIM if self.refused:
                self._enter(Stage.UNDO, releases(self._group, self.claimed))
            case Stage.CLAIM:
                self._enter(Stage.DONE)
            case Stage.UNDO:
                raise Failed(f"{self.refused} is still owned by another consumer")
        return self.stage

    def also_ask(self, requests: Iterable[messages.Request]) -> None:
        self.todo += requests

    def wait(self) -> None:
        self.attempt += 1
        self._enter(Stage.WAITING)

    def _enter(self, stage: Stage, requests: Iterable[messages.Request] = ()) -> None:
        self.stage, self.todo = stage, list(requests)

    def _compute(self) -> None:
        threads: dict[str, list[str]] = {}
        mine: list[str] = []
        for key, registration in self.registrations.items():
            streams = dict(registration.topics)
            if registration.pattern is not None:
                streams = dict.fromkeys(messages.matching(registration.pattern, self.names), registration.streams)
            for topic, count in streams.items():
                threads.setdefault(topic, []).extend(_threads(key, count))
            if key == self._consumer_id:
                mine = _threads(key, max(streams.values(), default=0))
        try:
            self.share = self._assign(mine, threads, self.partitions)
        except CannotAssign as reason:
            raise Failed(str(reason)) from None


def commits(group: str, positions: Mapping[Partition, int]) -> list[messages.Request]:
    return [messages.SetData(0, messages.offset(group, *partition), offset) for partition, offset in positions.items()]


def releases(group: str, owned: Iterable[Partition]) -> list[messages.Request]:
    return [messages.Delete(0, messages.owner(group, *partition)) for partition in owned]


def _threads(consumer_id: str, streams: int) -> list[str]:
    return [f"{consumer_id}-{number}" for number in range(streams)]


def _partition(path: str) -> Partition:
    _, topic, number = path.rsplit("/", 2)
    return topic, int(number)


WORKING: Final = "working"
"""What a request is for: the rebalance that runs."""

BACKOFF: Final = "backoff"
"""The timer of the pause between two tries."""


@dataclass(slots=True, eq=False)
class Rebalancer(NodeState):
    """Of one consumer; ``group`` and ``member`` are names in the scenario."""

    _group: str
    _member: str
    _settings: ConsumerSettings
    _run: Rebalance | None = None
    nodes: tuple[Partition, ...] = ()
    """The owner nodes that the consumer has created and not given up."""

    def end(self, out: Outbox) -> None:
        """What runs is given up, without a word."""
        self._run = None
        out.cancel_timer(BACKOFF)

    def begin(self, consumer_id: str, watching: Watching, connection: Connection, out: Outbox) -> None:
        """Begin a rebalance if one is due and none runs. A pattern subscriber learns its topics first."""
        if watching.due is None or self._run is not None:
            return
        if watching.is_listing(connection):
            return
        assign = STRATEGIES[self._settings.partition_assignment_strategy].implementation
        self._run = Rebalance(watching.due, self._group, consumer_id, watching.topics, assign)
        out.observe(RebalanceBegan(self._group, watching.due, None, None, self._member))
        watching.due = None
        connection.ask(WORKING, self._run.todo[0], out)

    def try_again(self, connection: Connection, out: Outbox) -> None:
        """The pause after a try that failed is over."""
        if self._run is not None:
            self._run.begin()
            connection.ask(WORKING, self._run.todo[0], out)

    def go_on(
        self,
        now: Time,
        answer: Message,
        watching: Watching,
        connection: Connection,
        consumption: Consumption,
        out: Outbox,
    ) -> None:
        """The rebalance goes on with this answer, through stages that ask nothing."""
        run = self._run
        assert run is not None
        try:
            request = run.todo[0]
            run.take(answer)
            if isinstance(request, SetData):
                self.stored(request, out)
            while not run.todo:
                match run.advance():
                    case Stage.COMMIT:
                        run.also_ask(self.stop(now, consumption, out))
                    case Stage.RELEASE:
                        run.also_ask(releases(self._group, self.nodes))
                    case Stage.PARTITIONS:
                        self.nodes = ()
                    case Stage.OFFSETS:
                        out.observe(Granted(self._group, self._member, as_queues(run.share), None))
                    case Stage.DONE:
                        self.nodes = tuple(run.claimed)
                        largest = self._settings.auto_offset_reset == "largest"
                        consumption.start(now, run.offsets, largest, out)
                        self._over(bool(run.share), out)
                        return
                    case Stage.NO_BROKER:
                        watching.watch_brokers(connection, out)
                        self._over(False, out)
                        return
                    case _:
                        pass
        except Failed as reason:
            self._failed(now, run, str(reason), out)
            return
        connection.ask(WORKING, run.todo[0], out)

    def _failed(self, now: Time, run: Rebalance, reason: str, out: Outbox) -> None:
        run.wait()
        member, tries = self._member, self._settings.rebalance_max_retries
        out.observe(Noted(f"{member}: try {run.attempt} of {tries} failed: {reason}"))
        if run.attempt < tries:
            out.set_timer(BACKOFF, now + self._settings.backoff_ms)
        else:
            out.observe(Noted(f"{member}: gives up and owns nothing, but stays registered"))
            self._over(False, out)

    def _over(self, changed: bool, out: Outbox) -> None:
        self._run = None
        out.observe(RebalanceEnded(self._group, None, changed, self._member))

    def stop(self, now: Time, consumption: Consumption, out: Outbox) -> list[Request]:
        """Own nothing from now on; what to commit."""
        positions = consumption.stop(now, out)
        return commits(self._group, positions) if self._settings.auto_commit_enable else []

    def stored(self, request: Request, out: Outbox) -> None:
        """ZooKeeper accepts every offset, from any consumer."""
        assert isinstance(request, SetData)
        _, topic, number = request.path.rsplit("/", 2)
        queue = Queue(topic, "", int(number))
        out.observe(Committed(self._group, queue, request.data, self._member, None, ""))
