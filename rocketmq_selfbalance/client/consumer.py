"""What one consumer (a group within a client) knows and holds (RocketMQ's ``DefaultMQPushConsumerImpl`` and
``DefaultLitePullConsumerImpl``, with the tables of their ``RebalanceImpl``)."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from protocols.engine.nodes import Time
from protocols.node_state import Apart, NodeState, Shared
from protocols.queues import Queue
from rocketmq_selfbalance.client.offset_store import OffsetStore
from rocketmq_selfbalance.client.pool import Pool
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.settings import LITE_PULL, PULL, PUSH, ClientSettings
from rocketmq_selfbalance.codes import CLUSTERING, CONSUME_ACTIVELY, CONSUME_PASSIVELY
from rocketmq_selfbalance.member_lists import first_of_its_value
from rocketmq_selfbalance.messages.membership import ConsumerData
from rocketmq_selfbalance.states import CREATE_JUST
from rocketmq_selfbalance.strategies import PositionStrategy, Strategy

__all__ = ["LITE_PULL", "PULL", "PUSH", "Consumer"]


@dataclass(slots=True, eq=False)
class Rebalancing(NodeState):
    """The pass that is under way, or the last one, as far as it concerns this consumer."""

    balanced: bool = True
    """Whether the consumer holds what it computed."""
    changed: bool = False
    """Whether something was added or removed for the topic at hand."""
    refused: bool = False
    """Whether a lock was, for the topic at hand."""
    adding: dict[Queue, None] = field(default_factory=dict)
    """Queues that some thread is just about to add: a pass of another thread leaves them to it."""
    starting: list[tuple[Queue, int]] = field(default_factory=list)
    """Queues added and not yet pulled, with their starting offsets."""


@dataclass(slots=True, init=False, eq=False)
class Consumer(NodeState):
    """One consumer. ``created``: when, in milliseconds of virtual time; ``member``: its name in the scenario."""

    group: str
    member: str
    client_id: str
    strategy: Apart[Shared[Strategy]]
    store: OffsetStore
    settings: Apart[ClientSettings]
    by_position: Apart[Shared[PositionStrategy | None]]
    """The strategy, where it can tell everybody's share at once; the same object for all who have an equal one."""
    kind: str
    orderly: bool
    message_model: str
    consume_from_where: str
    consume_timestamp: Apart[Time]
    state: str
    by_hand: bool
    """Whether the listener is somebody's own (`ConsumerSpec.by_hand`)."""
    handle: Time
    """How long the user's code takes for one record."""
    pool: Pool
    numbers: int
    """How many process queues it has made."""
    data: ConsumerData | None
    """What heartbeats say of it, while that does not change."""
    paused: bool
    subscriptions: Apart[dict[str, Time]]
    """Topic to the version of its subscription: the time when it was made or changed."""
    routes: dict[str, tuple[Queue, ...]]
    """Topic to its readable queues as this consumer knows them, sorted."""
    table: dict[Queue, ProcessQueue]
    """The process queue table: what the consumer holds, dropped leftovers included."""
    leaving: dict[Queue, ProcessQueue]
    """Process queues that have left the table before they were given up properly."""
    pull_threshold_for_queue: int
    pull_threshold_size_for_queue: int
    rebalancing: Rebalancing

    def __init__(
        self,
        group: str,
        member: str,
        client_id: str,
        strategy: Strategy,
        store: OffsetStore,
        settings: ClientSettings,
        created: Time = 0.0,
        handle: Time = 0.0,
        by_hand: bool = False,
    ) -> None:
        self.group, self.member, self.client_id = group, member, client_id
        self.strategy, self.store, self.settings = strategy, store, settings
        self.by_position = None
        if isinstance(strategy, PositionStrategy) and isinstance(strategy, Hashable):
            self.by_position = first_of_its_value(strategy)
        self.kind = settings.kind
        self.orderly = settings.orderly and settings.kind == PUSH
        self.message_model = settings.message_model
        self.consume_from_where = settings.consume_from_where
        self.consume_timestamp = (created - settings.consume_timestamp_back_ms) // 1000 * 1000.0
        self.state = CREATE_JUST
        self.by_hand = by_hand
        self.handle = handle
        self.pool = Pool()
        self.numbers = 0
        self.data = None
        self.paused = False
        self.subscriptions = {}
        self.routes = {}
        self.table = {}
        self.leaving = {}
        self.pull_threshold_for_queue = settings.pulling.pull_threshold_for_queue
        self.pull_threshold_size_for_queue = settings.pulling.pull_threshold_size_for_queue
        self.rebalancing = Rebalancing()

    @property
    def locks(self) -> bool:
        """Whether its queues have to be locked at the brokers."""
        return self.orderly and (self.message_model == CLUSTERING or self.settings.ordered.broadcasting_orderly_locks)

    @property
    def consume_type(self) -> str:
        """As heartbeats tell it."""
        return CONSUME_PASSIVELY if self.kind == PUSH else CONSUME_ACTIVELY

    def holds(self, topic: str | None = None) -> list[Queue]:
        """The queues (of the topic) that it holds and has not dropped."""
        return [
            queue
            for queue, process_queue in self.table.items()
            if not process_queue.dropped and (topic is None or queue.topic == topic)
        ]

    def subscribe(self, topic: str, now: Time) -> None:
        """Subscribe to a topic, or make its subscription a newer version."""
        self.subscriptions[topic] = now
        self.data = None

    def unsubscribe(self, topic: str) -> None:
        """The topic is of no interest any more; its queues go with the next pass."""
        self.subscriptions.pop(topic, None)
        self.data = None

    def set_route(self, topic: str, queues: tuple[Queue, ...]) -> None:
        """The topic's readable queues are these."""
        self.routes[topic] = queues

    def current(self, queue: Queue, number: int) -> ProcessQueue | None:
        """The process queue of this number, where it is still in the table."""
        found = self.table.get(queue)
        return found if found is not None and found.number == number else None

    def destroy(self) -> None:
        """Drop all queues at once; nothing is kept or told."""
        for process_queue in self.table.values():
            process_queue.dropped = True
        self.table.clear()
