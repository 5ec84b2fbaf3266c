"""The rebalance thread, from what wakes it to what its consumers are to own: RocketMQ's ``RebalanceService``,
``MQClientInstance.doRebalance``, and ``RebalanceImpl`` with ``doRebalance`` and ``rebalanceByTopic`` (spec 3.4, 4.1,
4.2, 5.5).

It reads top to bottom: each step stands above the function that does it, and pushes those below it; the path goes on
in `process_queue_table`, with ``updateProcessQueueTableInRebalance``.

The thread sleeps until it is woken or a while has passed. 5.x: no pass begins within a second of the last one, and one
that did not balance is repeated after a second. Each topic is balanced on its own. Nobody coordinates: equal inputs
give equal answers, and nothing checks that the inputs are equal.
"""

from functools import lru_cache
from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue, string_entry_order
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.consumer import PERIODIC, PUSH, Consumer, share_of
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.process_queue_table import MessageQueueChanged, UpdateProcessQueueTable
from rocketmq_selfbalance.client.removal import World
from rocketmq_selfbalance.client.requests import tell_new_connection
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import AskAssignment, AskMembers, Assigned, Call, RefreshRoute, Thread
from rocketmq_selfbalance.codes import BROADCASTING, RETRY_PREFIX
from rocketmq_selfbalance.pop import retry_topic_of
from rocketmq_selfbalance.states import REMOVED
from rocketmq_selfbalance.strategies import AllocationError

THREAD = "rebalance"
TIMER = "rebalance"


def start(client: Instance, now: Time, out: Outbox) -> None:
    """``start``: the thread goes to sleep."""
    client.service.last = client.created
    out.set_timer(TIMER, now + client.settings.rebalance.rebalance_wait_interval_ms)


def rebalance_immediately(client: Instance, now: Time, why: str, out: Outbox) -> None:
    """``rebalanceImmediately``, ``wakeup``: be it for a notification, a start, or a new connection."""
    service = client.service
    if why not in service.triggers:
        service.triggers.append(why)
    service.notified = True
    if client.running and not service.in_pass:
        run(client, now, out)


def run(client: Instance, now: Time, out: Outbox) -> None:
    """``run``: the thread is awake. It waits out the least interval, or begins a pass over all consumers
    (``MQClientInstance.doRebalance``)."""
    service, settings = client.service, client.settings
    service.notified = False
    earliest = service.last + settings.rebalance.rebalance_min_interval_ms
    if now < earliest:
        # Of a thousand notices after each other only the first has anything to set.
        if service.waits_until != earliest:
            service.waits_until = earliest
            out.set_timer(TIMER, earliest)
        return
    out.cancel_timer(TIMER)
    service.in_pass = True
    service.trigger = ", ".join(dict.fromkeys(service.triggers)) or PERIODIC
    service.triggers.clear()
    steps = [_TryRebalance(consumer.group) for consumer in client.active()]
    blocking.run(client, now, THREAD, [*steps, _EndPass()], out)


class _TryRebalance(NamedTuple):
    """``tryRebalance``: one consumer's part of the pass."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        if client.service.trigger != PERIODIC:
            client.service.begin(consumer, out)
        client.observed.forget_granted(consumer, consumer.subscriptions, out)
        thread.push(DoRebalance(self.group, topics_in_turn(consumer)))


class DoRebalance(NamedTuple):
    """``doRebalance``: balance these topics of the consumer, in this order. Afterwards `Rebalancing.balanced` tells
    whether it holds what it computed."""

    group: str
    topics: tuple[str, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        consumer.rebalancing.balanced = not (consumer.paused and consumer.kind == PUSH)
        if consumer.rebalancing.balanced:
            each = _each_asked(self) if consumer.asks_broker else _each(self)
            thread.push(*each, _TruncateMessageQueueNotMyTopic(self.group))


@lru_cache(maxsize=1024)
def _each(step: DoRebalance) -> "tuple[_RebalanceByTopic, ...]":
    return tuple(_RebalanceByTopic(AskMembers(step.group, topic)) for topic in step.topics)


@lru_cache(maxsize=1024)
def _each_asked(step: DoRebalance) -> "tuple[_GetRebalanceResultFromBroker, ...]":
    return tuple(_GetRebalanceResultFromBroker(AskAssignment(step.group, topic)) for topic in step.topics)


def topics_in_turn(consumer: Consumer) -> tuple[str, ...]:
    """The topics of a consumer in the order of a pass: that of its map of subscriptions."""
    return _in_turn(tuple(consumer.subscriptions))


@lru_cache(maxsize=1024)
def _in_turn(topics: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(string_entry_order(topics))


class _RebalanceByTopic(NamedTuple):
    """``rebalanceByTopic`` for the topic of which this asks; without a route that is asked for first, once. Since 5.5 a
    topic without a queue ends here (spec 15)."""

    question: AskMembers

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        question = self.question
        group, topic = question
        consumer = world.consumer(group)
        queues = consumer.routes.get(topic)
        if consumer.message_model != BROADCASTING:
            if not queues and consumer.settings.version.no_queues_is_balanced:
                _no_queues(consumer, thread, topic)
                return None
            thread.push(_Allocate(group, topic, queues))
            if world.has_route(topic):
                return question
            thread.push(_FindConsumerIdList(question))
            return RefreshRoute(topic)
        if queues is None:
            _no_queues(consumer, thread, topic)
        else:
            UpdateProcessQueueTable(group, topic, queues, queues).do(world, now, thread, out)
        return None


class _GetRebalanceResultFromBroker(NamedTuple):
    """``getRebalanceResultFromBroker``: a broker computes; without a route that is asked for first, once (spec pop
    3.1)."""

    question: AskAssignment

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call:
        thread.push(_UpdateMessageQueueAssignment(*self.question))
        if world.has_route(self.question.topic):
            return self.question
        thread.push(_QueryAssignment(self.question))
        return RefreshRoute(self.question.topic)


class _QueryAssignment(NamedTuple):
    """``queryAssignment``, now that the route was asked for."""

    question: AskAssignment

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        if world.has_route(self.question.topic):
            return self.question
        thread.value = None
        return None


class _UpdateMessageQueueAssignment(NamedTuple):
    """``updateMessageQueueAssignment``: take over what the broker answered. Without a valid answer the consumer keeps
    what it has, and is not balanced (spec pop 3.2)."""

    group: str
    topic: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer, answer = world.consumer(self.group), thread.value
        if not isinstance(answer, Assigned):
            consumer.rebalancing.balanced = False
            return
        if not self.topic.startswith(RETRY_PREFIX):
            # What came back by POP is popped with its topic; who pulls has to subscribe to it.
            retry = retry_topic_of(self.group, self.topic)
            if answer.pulled and not answer.popped:
                consumer.subscribe(retry, now)
            elif answer.popped and not answer.pulled:
                consumer.unsubscribe(retry)
        UpdateProcessQueueTable(self.group, self.topic, None, *answer).do(world, now, thread, out)


class _FindConsumerIdList(NamedTuple):
    """``findConsumerIdList``, now that the route was asked for."""

    question: AskMembers

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        return self.question


def _no_queues(consumer: Consumer, thread: Thread, topic: str) -> None:
    """The topic counts as balanced, 5.x reports it as changed; in CLUSTERING topics of retries are passed over."""
    is_passed_over = topic.startswith(RETRY_PREFIX) and consumer.message_model != BROADCASTING
    if not is_passed_over and consumer.settings.rebalance.message_listener_for_unknown_topics:
        thread.push(MessageQueueChanged(consumer.group, topic, (), ()))


class _Allocate(NamedTuple):
    """The members are known, or the question failed: the strategy computes what is the consumer's."""

    group: str
    topic: str
    queues: tuple[Queue, ...] | None

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        members = thread.value
        if self.queues is None:
            _no_queues(consumer, thread, self.topic)
        elif isinstance(members, tuple) and (members or not consumer.settings.version.no_members_is_balanced):
            try:
                target = share_of(consumer, self.queues, members)
            except AllocationError:
                consumer.rebalancing.balanced = False
            else:
                UpdateProcessQueueTable(self.group, self.topic, self.queues, target).do(world, now, thread, out)


class _TruncateMessageQueueNotMyTopic(NamedTuple):
    """``truncateMessageQueueNotMyTopic``: queues of topics that are not subscribed any more are cut off; nothing is
    kept, unlocked or reported."""

    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        for queue in [queue for queue in consumer.table if queue.topic not in consumer.subscriptions]:
            world.drop(consumer, queue, consumer.table.pop(queue), "unsubscribed", out)
            world.life(consumer, queue, REMOVED, out)
        for queue in [queue for queue in consumer.pop_table if queue.topic not in consumer.subscriptions]:
            world.drop_popped(consumer, queue, consumer.pop_table.pop(queue), out)


class _EndPass(NamedTuple):
    """All consumers had their part."""

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        service, settings = client.service, client.settings
        client.tell_owned(out)
        service.tell_end(out)
        service.in_pass = False
        service.last = now
        balanced = all(consumer.rebalancing.balanced for consumer in client.active())
        if service.notified:
            run(client, now, out)
        elif balanced or not settings.rebalance.rebalance_min_interval_ms:
            out.set_timer(TIMER, now + between_passes(settings))
        else:
            out.set_timer(TIMER, now + settings.rebalance.rebalance_min_interval_ms)
        rejoining, service.rejoining = service.rejoining, {}
        for peer, connected in rejoining.items():
            if connected:
                tell_new_connection(client, now, peer, out)


def between_passes(settings: ClientSettings) -> Time:
    """How long after a pass the next one begins, if all is balanced and nobody wakes the thread."""
    return max(settings.rebalance.rebalance_wait_interval_ms, settings.rebalance.rebalance_min_interval_ms)
