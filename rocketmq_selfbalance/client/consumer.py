"""What one consumer (a group within a client) knows and holds (RocketMQ's ``DefaultMQPushConsumerImpl`` and
``DefaultLitePullConsumerImpl``, with the tables of their ``RebalanceImpl``)."""

from collections.abc import Hashable

from protocols.engine.nodes import Time
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


class Rebalancing:
    """The pass that is under way, or the last one, as far as it concerns this consumer."""

    __slots__ = ("adding", "balanced", "changed", "refused", "starting")

    def __init__(self) -> None:
        self.balanced = True
        """Whether the consumer holds what it computed."""
        self.changed = False
        """Whether something was added or removed for the topic at hand."""
        self.refused = False
        """Whether a lock was, for the topic at hand."""
        self.adding: dict[Queue, None] = {}
        """Queues that some thread is just about to add: a pass of another thread leaves them to it."""
        self.starting: list[tuple[Queue, int]] = []
        """Queues added and not yet pulled, with their starting offsets."""

    def copy(self) -> "Rebalancing":
        """An independent copy."""
        copy = Rebalancing()
        copy.balanced, copy.changed, copy.refused = self.balanced, self.changed, self.refused
        copy.starting, copy.adding = self.starting.copy(), self.adding.copy()
        return copy

    def key(self) -> tuple[object, ...]:
        """The state as plain tuples."""
        return self.balanced, self.changed, self.refused, tuple(self.starting), tuple(self.adding)


class Consumer:
    """One consumer. ``created``: when, in milliseconds of virtual time; ``member``: its name in the scenario."""

    __slots__ = (
        "by_hand",
        "by_position",
        "client_id",
        "consume_from_where",
        "consume_timestamp",
        "data",
        "group",
        "handle",
        "kind",
        "leaving",
        "member",
        "message_model",
        "numbers",
        "orderly",
        "paused",
        "pool",
        "pull_threshold_for_queue",
        "pull_threshold_size_for_queue",
        "rebalancing",
        "routes",
        "settings",
        "state",
        "store",
        "strategy",
        "subscriptions",
        "table",
    )

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
        self.by_position: PositionStrategy | None = None
        if isinstance(strategy, PositionStrategy) and isinstance(strategy, Hashable):
            self.by_position = first_of_its_value(strategy)
        """The strategy, where it can tell everybody's share at once; the same object for all who have an equal one."""
        self.kind = settings.kind
        self.orderly = settings.orderly and settings.kind == PUSH
        self.message_model = settings.message_model
        self.consume_from_where = settings.consume_from_where
        self.consume_timestamp: Time = (created - settings.consume_timestamp_back_ms) // 1000 * 1000.0
        self.state = CREATE_JUST
        self.by_hand = by_hand
        """Whether the listener is somebody's own (`ConsumerSpec.by_hand`)."""
        self.handle = handle
        """How long the user's code takes for one record."""
        self.pool = Pool()
        self.numbers = 0
        """How many process queues it has made."""
        self.data: ConsumerData | None = None
        """What heartbeats say of it, while that does not change."""
        self.paused = False
        self.subscriptions: dict[str, Time] = {}
        """Topic to the version of its subscription: the time when it was made or changed."""
        self.routes: dict[str, tuple[Queue, ...]] = {}
        """Topic to its readable queues as this consumer knows them, sorted."""
        self.table: dict[Queue, ProcessQueue] = {}
        """The process queue table: what the consumer holds, dropped leftovers included."""
        self.leaving: dict[Queue, ProcessQueue] = {}
        """Process queues that have left the table before they were given up properly."""
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

    def copy(self) -> "Consumer":
        """An independent copy."""
        copy: Consumer = object.__new__(Consumer)
        for name in Consumer.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.store = self.store.copy()
        copy.subscriptions, copy.routes = self.subscriptions.copy(), self.routes.copy()
        copy.table = {queue: process_queue.copy() for queue, process_queue in self.table.items()}
        copy.leaving = {queue: process_queue.copy() for queue, process_queue in self.leaving.items()}
        copy.pool = self.pool.copy()
        copy.rebalancing = self.rebalancing.copy()
        return copy

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now. Of subscription versions only their order matters."""
        versions = sorted(set(self.subscriptions.values()))
        return (
            self.group,
            self.state,
            self.paused,
            tuple(sorted((topic, versions.index(version)) for topic, version in self.subscriptions.items())),
            tuple(sorted(self.routes.items())),
            tuple((queue, process_queue.key(now)) for queue, process_queue in sorted(self.table.items())),
            tuple((queue, process_queue.key(now)) for queue, process_queue in sorted(self.leaving.items())),
            self.store.key(),
            self.pull_threshold_for_queue,
            self.pull_threshold_size_for_queue,
            self.rebalancing.key(),
            self.pool.key(now),
        )
