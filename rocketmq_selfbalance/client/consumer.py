"""What one consumer (a group within a client) knows and holds (RocketMQ's ``DefaultMQPushConsumerImpl`` and
``DefaultLitePullConsumerImpl``, with the tables of their ``RebalanceImpl``), what the rebalance thread remembers
(``RebalanceService``), and what a strategy gives a consumer of one topic (spec 4.2, 4.3).

A thousand clients get member lists of a thousand ids again and again. Brokers give the same object while a list does
not change, so a list is known by its identity, and what follows of it by value alone is computed once; so are equal
allocations.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import lru_cache, wraps
from typing import ParamSpec, TypeAlias, TypeVar

from protocols.engine.nodes import Outbox, Time
from protocols.facts import RebalanceBegan, RebalanceEnded
from protocols.java import Queue, sort_queues, sorted_as_java
from protocols.node_state import Apart, NodeState, Shared
from rocketmq_selfbalance.client.offset_store import OffsetStore
from rocketmq_selfbalance.client.pool import Pool, PopPool
from rocketmq_selfbalance.client.process_queue import PopProcessQueue, ProcessQueue
from rocketmq_selfbalance.client.settings import LITE_PULL, PULL, PUSH, ClientSettings
from rocketmq_selfbalance.codes import CLUSTERING, CONSUME_ACTIVELY, CONSUME_PASSIVELY
from rocketmq_selfbalance.messages.membership import ConsumerData
from rocketmq_selfbalance.states import CREATE_JUST
from rocketmq_selfbalance.strategies import AllocationError, PositionStrategy, Strategy

P = ParamSpec("P")
T = TypeVar("T")


def once_for_the_same(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For pure functions: the value for the very same arguments (positional, by their identity) is kept. ``most``
    values are, then all are forgotten."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known: dict[tuple[int, ...], tuple[object, T]] = {}

        @wraps(function)
        def found(*args: P.args, **kwargs: P.kwargs) -> T:
            key = tuple(map(id, args))
            value = known.get(key)
            if value is None:
                if len(known) >= most:
                    known.clear()
                # The arguments are kept as well: as long as they live nothing else has their identity.
                value = known[key] = args, function(*args, **kwargs)
            return value[1]

        return found

    return decorate


@lru_cache(maxsize=1024)
def first_of_its_value(value: T) -> T:
    """The same object for equal values, while it is remembered."""
    return value


@once_for_the_same(most=1024)
def in_order(members: tuple[str, ...]) -> tuple[str, ...]:
    """The ids sorted as Java does; equal lists, in whatever order, give the same object while it is remembered."""
    first: tuple[str, ...] = first_of_its_value(tuple(sorted_as_java(members)))
    return first


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


@dataclass(slots=True, eq=False)
class Consumer(NodeState):
    """One consumer. ``created``: when, in milliseconds of virtual time; ``member``: its name in the scenario."""

    group: str
    member: str
    client_id: str
    strategy: Apart[Shared[Strategy]]
    store: OffsetStore
    settings: Apart[ClientSettings]
    created: InitVar[Time] = 0.0
    handle: Time = 0.0
    """How long the user's code takes for one record."""
    by_hand: bool = False
    """Whether the listener is somebody's own (`ConsumerSpec.by_hand`)."""
    by_position: Apart[Shared[PositionStrategy | None]] = field(default=None, init=False)
    """The strategy, where it can tell everybody's share at once; the same object for all who have an equal one."""
    kind: str = field(init=False)
    orderly: bool = field(init=False)
    message_model: str = field(init=False)
    consume_from_where: str = field(init=False)
    consume_timestamp: Apart[Time] = field(init=False)
    state: str = CREATE_JUST
    pool: Pool = field(default_factory=Pool)
    numbers: int = 0
    """How many process queues it has made."""
    data: ConsumerData | None = None
    """What heartbeats say of it, while that does not change."""
    paused: bool = False
    subscriptions: Apart[dict[str, Time]] = field(default_factory=dict)
    """Topic to the version of its subscription: the time when it was made or changed."""
    routes: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    """Topic to its readable queues as this consumer knows them, sorted."""
    table: dict[Queue, ProcessQueue] = field(default_factory=dict)
    """The process queue table: what the consumer holds, dropped leftovers included."""
    pop_table: dict[Queue, PopProcessQueue] = field(default_factory=dict)
    """What it may pop; a queue numbered -1 stands for all of its broker."""
    pop_pool: PopPool = field(default_factory=PopPool)
    leaving: dict[Queue, ProcessQueue] = field(default_factory=dict)
    """Process queues that have left the table before they were given up properly."""
    pull_threshold_for_queue: int = field(init=False)
    pull_threshold_size_for_queue: int = field(init=False)
    rebalancing: Rebalancing = field(default_factory=Rebalancing)

    def __post_init__(self, created: Time) -> None:
        strategy, settings = self.strategy, self.settings
        if isinstance(strategy, PositionStrategy) and isinstance(strategy, Hashable):
            self.by_position = first_of_its_value(strategy)
        self.kind = settings.kind
        self.orderly = settings.orderly and settings.kind == PUSH
        self.message_model = settings.message_model
        self.consume_from_where = settings.consume_from_where
        self.consume_timestamp = (created - settings.consume_timestamp_back_ms) // 1000 * 1000.0
        self.pull_threshold_for_queue = settings.pulling.pull_threshold_for_queue
        self.pull_threshold_size_for_queue = settings.pulling.pull_threshold_size_for_queue

    @property
    def locks(self) -> bool:
        """Whether its queues have to be locked at the brokers."""
        return self.orderly and (self.message_model == CLUSTERING or self.settings.ordered.broadcasting_orderly_locks)

    @property
    def asks_broker(self) -> bool:
        """Whether a broker computes its queues (``clientRebalance`` is false; spec pop 0)."""
        return (
            not self.settings.client_rebalance
            and self.kind == PUSH
            and not self.orderly
            and self.message_model == CLUSTERING
        )

    @property
    def consume_type(self) -> str:
        """As heartbeats tell it."""
        return CONSUME_PASSIVELY if self.kind == PUSH else CONSUME_ACTIVELY

    def holds(self, topic: str | None = None) -> list[Queue]:
        return [
            queue
            for queue, process_queue in self.table.items()
            if not process_queue.dropped and (topic is None or queue.topic == topic)
        ]

    def subscribe(self, topic: str, now: Time) -> None:
        self.subscriptions[topic] = now
        self.data = None

    def unsubscribe(self, topic: str) -> None:
        self.subscriptions.pop(topic, None)
        self.data = None

    def set_route(self, topic: str, queues: tuple[Queue, ...]) -> None:
        self.routes[topic] = queues

    def current(self, queue: Queue, number: int) -> ProcessQueue | None:
        found = self.table.get(queue)
        return found if found is not None and found.number == number else None

    def popped(self, queue: Queue, number: int) -> PopProcessQueue | None:
        """The pop queue of this number, as long as it is not dropped."""
        found = self.pop_table.get(queue)
        return found if found is not None and found.number == number and not found.dropped else None

    def destroy(self) -> None:
        for process_queue in self.table.values():
            process_queue.dropped = True
        self.table.clear()
        for popped in self.pop_table.values():
            popped.dropped = True
        self.pop_table.clear()


PERIODIC = "periodic"
"""The trigger of a pass that nothing but the time caused."""


@dataclass(slots=True, eq=False)
class RebalanceService(NodeState):
    """``last``: the end of the last pass. A wake-up sets ``notified``; several are one."""

    last: Time = 0.0
    notified: bool = False
    waits_until: Time | None = None
    """The end of the least interval that was waited out last."""
    in_pass: bool = False
    triggers: list[str] = field(default_factory=list)
    """Why the thread was woken since the last pass began."""
    trigger: str = PERIODIC
    """Why the pass that is under way began."""
    rejoining: dict[str, bool] = field(default_factory=dict)
    """Peers whose connections had ended when the process went on after it hung: whether there is a new one, of
    which is to be told after the pass under way."""
    told: dict[str, str] = field(default_factory=dict)
    """Group to the member of whom the observer knows that it rebalances in this pass."""
    changed: set[str] = field(default_factory=set)
    """Groups whose queues have changed in this pass."""

    def begin(self, consumer: "Consumer", out: Outbox) -> None:
        """The consumer's part of the pass is worth telling."""
        if self.in_pass and consumer.group not in self.told:
            self.told[consumer.group] = consumer.member
            out.observe(RebalanceBegan(consumer.group, self.trigger, None, None, consumer.member))

    def tell_end(self, out: Outbox) -> None:
        for group, member in self.told.items():
            out.observe(RebalanceEnded(group, None, group in self.changed, member))
        self.told.clear()
        self.changed.clear()


Shares: TypeAlias = Mapping[str, tuple[Queue, ...]]
"""Client id to the queues of one topic that it takes, sorted."""


def share_of(consumer: Consumer, queues: tuple[Queue, ...], members: tuple[str, ...]) -> tuple[Queue, ...]:
    """The queues of a topic that the consumer takes by its strategy, sorted. Raises `AllocationError`."""
    own = consumer.client_id
    if consumer.by_position is not None:
        shares = _shares(consumer.by_position, queues, members)
        if shares is not None:
            return shares.get(own, ())
    answer = consumer.strategy.allocate(consumer.group, own, queues, list(in_order(members)))
    return sort_queues(set(answer or ()))


@once_for_the_same(most=16_384)  # every client of a group computes the same from equal lists
def _shares(strategy: PositionStrategy, queues: tuple[Queue, ...], members: tuple[str, ...]) -> Shares | None:
    """The share of everybody who gets any; None where each client has to compute for itself, as the strategy fails for
    one of them."""
    return _shares_in_order(strategy, queues, in_order(members))


@once_for_the_same(most=4096)
def _shares_in_order(strategy: PositionStrategy, queues: tuple[Queue, ...], members: tuple[str, ...]) -> Shares | None:
    try:
        positions = strategy.positions_of_all(queues, list(members))
    except AllocationError:
        return None
    return {cid: _at(queues, taken) for cid, taken in positions.items() if taken}


def _at(queues: tuple[Queue, ...], positions: Sequence[int]) -> tuple[Queue, ...]:
    return tuple(queues[position] for position in sorted(set(positions)))
