"""One pass over a consumer's topics: what is it to own of each (spec 4.1, 4.2)?

Each topic is balanced on its own. Nobody coordinates: equal inputs give equal answers, and nothing checks that the
inputs are equal.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from protocols.java import string_entry_order
from protocols.queues import Queue, sort_queues
from rocketmq_selfbalance.client.calls import AskMembers, Call, RefreshRoute
from rocketmq_selfbalance.client.changed import Changed
from rocketmq_selfbalance.client.consumer import PUSH, Consumer, World
from rocketmq_selfbalance.client.table_update import UpdateTable, update
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.codes import BROADCASTING, RETRY_PREFIX
from rocketmq_selfbalance.member_lists import in_order, once_for_the_same
from rocketmq_selfbalance.states import REMOVED
from rocketmq_selfbalance.strategies import AllocationError, PositionStrategy

Shares: TypeAlias = Mapping[str, tuple[Queue, ...]]
"""Client id to the queues of one topic that it takes, sorted."""


class Pass(NamedTuple):
    """Balance these topics of the consumer, in this order. Afterwards `Consumer.balanced` tells whether it holds what
    it computed."""

    group: str
    topics: tuple[str, ...]


class _Topic(NamedTuple):
    """Balance the topic of which this asks; without a route that is asked for first, once."""

    question: AskMembers


class _Ask(NamedTuple):
    question: AskMembers


class _Allocate(NamedTuple):
    group: str
    topic: str
    queues: tuple[Queue, ...] | None


class _Truncate(NamedTuple):
    group: str


def _pass(world: World, thread: Thread, step: Pass) -> Call | None:
    consumer = world.consumer(step.group)
    consumer.balanced = not (consumer.paused and consumer.kind == PUSH)
    if consumer.balanced:
        thread.push(*_each(step), _Truncate(step.group))
    return None


@lru_cache(maxsize=1024)
def _each(step: Pass) -> tuple[_Topic, ...]:
    return tuple(_Topic(AskMembers(step.group, topic)) for topic in step.topics)


def topics_in_turn(consumer: Consumer) -> tuple[str, ...]:
    """The topics of a consumer in the order of a pass: that of its map of subscriptions."""
    return _in_turn(tuple(consumer.subscriptions))


@lru_cache(maxsize=1024)
def _in_turn(topics: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(string_entry_order(topics))


def _topic(world: World, thread: Thread, step: _Topic) -> Call | None:
    question = step.question
    group, topic = question
    consumer = world.consumer(group)
    queues = consumer.routes.get(topic)
    if consumer.message_model != BROADCASTING:
        thread.push(_Allocate(group, topic, queues))
        if world.has_route(topic):
            return question
        thread.push(_Ask(question))
        return RefreshRoute(topic)
    if queues is None:
        _unknown(consumer, thread, topic)
        return None
    return update(world, thread, UpdateTable(group, topic, queues, queues))


def _ask(world: World, thread: Thread, step: _Ask) -> Call | None:
    return step.question


def _unknown(consumer: Consumer, thread: Thread, topic: str) -> None:
    """No route: the topic counts as balanced, 5.x reports it as changed."""
    if consumer.settings.message_listener_for_unknown_topics:
        thread.push(Changed(consumer.group, topic, (), ()))


def _allocate(world: World, thread: Thread, step: _Allocate) -> Call | None:
    consumer = world.consumer(step.group)
    members: Any = thread.value
    if step.queues is None:
        if not step.topic.startswith(RETRY_PREFIX):
            _unknown(consumer, thread, step.topic)
    elif isinstance(members, tuple):
        try:
            target = share_of(consumer, step.queues, members)
        except AllocationError:
            consumer.balanced = False
        else:
            return update(world, thread, UpdateTable(step.group, step.topic, step.queues, target))
    return None


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


def _truncate(world: World, thread: Thread, step: _Truncate) -> Call | None:
    """Queues of topics that are not subscribed any more are cut off: nothing is kept, unlocked or reported
    (spec 5.5)."""
    consumer = world.consumer(step.group)
    for queue in [queue for queue in consumer.table if queue.topic not in consumer.subscriptions]:
        world.drop(consumer, queue, consumer.table.pop(queue), "unsubscribed")
        world.life(consumer, queue, REMOVED)
    return None


HANDLERS: Handlers = {
    Pass: _pass,
    _Topic: _topic,
    _Ask: _ask,
    _Allocate: _allocate,
    _Truncate: _truncate,
}
