"""How a consumer starts, in five steps (``start`` of ``DefaultMQPushConsumerImpl`` and of ``MQClientInstance``; spec
3.2). `shutdown` says how it ends.

Start: prepare (subscriptions, offsets) · consume service · register with the instance, which starts with its first
consumer · routes of its topics · heartbeat, and wake the rebalance thread.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted, Transition
from rocketmq_selfbalance.client import blocking, rebalance_service, tasks
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.consumer import PUSH, Consumer, WakeUp
from rocketmq_selfbalance.client.consuming_orderly import lock_timer, services
from rocketmq_selfbalance.client.heartbeat import Beat
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.offset_store import LocalOffsets, OffsetsFile, RemoteOffsets
from rocketmq_selfbalance.client.persisting import PersistAll
from rocketmq_selfbalance.client.threads import Call, Handlers, RefreshRoute, Thread
from rocketmq_selfbalance.codes import CLUSTERING, RETRY_PREFIX
from rocketmq_selfbalance.states import CLIENT, REFUSED, RUNNING, START, STARTED

THREAD = "main"
"""The user's own thread, in which start() and shutdown() run."""


class StartUp(NamedTuple):
    """Start this consumer."""

    spec: ConsumerSpec


class KeepOffsets(NamedTuple):
    """The user's code wants the offsets of the consumer to be kept now."""

    group: str


class _AskRoutes(NamedTuple):
    group: str
    topics: tuple[str, ...]


class _FirstHeartbeat(NamedTuple):
    group: str


class _WakeIfTold(NamedTuple):
    group: str
    why: str


def _start_up(client: Instance, now: Time, thread: Thread, step: StartUp, out: Outbox) -> Call | None:
    spec = step.spec
    consumer = _prepared(client, now, spec)
    move(client, consumer, START, out)
    if spec.group in client.consumers:
        move(client, consumer, REFUSED, out)
        out.observe(Noted(f"{spec.member}: this client has a consumer of group {spec.group} already"))
        return None
    _start_consuming(client, now, consumer, out)
    client.consumers[spec.group] = consumer
    if not client.running:
        _start_instance(client, now, out)
    move(client, consumer, STARTED, out)
    thread.push(_AskRoutes(spec.group, tuple(consumer.subscriptions)), _FirstHeartbeat(spec.group))
    return None


def _first_heartbeat(client: Instance, now: Time, thread: Thread, step: _FirstHeartbeat, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    # Pull consumers join by the first periodic heartbeat.
    if consumer.kind == PUSH:
        thread.push(Beat(), _WakeIfTold(step.group, f"{consumer.member} started"))
    return None


def _prepared(client: Instance, now: Time, spec: ConsumerSpec) -> Consumer:
    settings = spec.settings
    clustering = settings.message_model == CLUSTERING
    store = RemoteOffsets() if clustering else LocalOffsets(spec.file or OffsetsFile())
    consumer = Consumer(
        *(spec.group, spec.member, client.client_id, spec.strategy, store, settings, now, spec.handle),
        by_hand=spec.by_hand,
    )
    consumer.pool.poison.learn(spec.poison)
    for topic in spec.topics:
        consumer.subscribe(topic, now)
    if clustering and consumer.kind == PUSH:
        consumer.subscribe(RETRY_PREFIX + spec.group, now)
    store.load()
    return consumer


def _start_consuming(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    settings = consumer.settings
    for service in services(consumer):
        out.set_timer(lock_timer(consumer.group, service), now + settings.ordered.lock_first_ms)
    if consumer.kind == PUSH:
        if not consumer.orderly:
            out.set_timer(("expired", consumer.group), now + settings.consuming.consume_timeout_ms)
    else:
        consumer.pool.next_commit = now + settings.lite_pull.auto_commit_interval_ms


def _start_instance(client: Instance, now: Time, out: Outbox) -> None:
    client.running, client.ended = True, False
    client.created = now
    tasks.begin(client, now, out)
    rebalance_service.start(client, now, out)


def _ask_routes(client: Instance, now: Time, thread: Thread, step: _AskRoutes, out: Outbox) -> Call | None:
    if not step.topics:
        return None
    thread.push(_AskRoutes(step.group, step.topics[1:]))
    return RefreshRoute(step.topics[0])


def _wake_if_told(client: Instance, now: Time, thread: Thread, step: _WakeIfTold, out: Outbox) -> Call | None:
    if thread.value or not client.settings.rebalance.rebalance_min_interval_ms:
        thread.push(WakeUp(step.why))
    return None


def subscribe(client: Instance, now: Time, group: str, topic: str, out: Outbox) -> None:
    """``subscribe()`` at run time: brokers are told at once."""
    client.consumers[group].subscribe(topic, now)
    blocking.run(client, now, THREAD, (Beat(),), out)


def _keep_offsets(client: Instance, now: Time, thread: Thread, step: KeepOffsets, out: Outbox) -> Call | None:
    consumer = client.consumers.get(step.group)
    if consumer is not None and consumer.state == RUNNING:
        thread.push(PersistAll(step.group))
    return None


def move(client: Instance, consumer: Consumer, event: str, out: Outbox) -> None:
    """The consumer's state changes."""
    before, consumer.state = consumer.state, CLIENT.next_state(consumer.state, event)
    out.observe(Transition(CLIENT.name, consumer.member, before, event, consumer.state))


HANDLERS: Handlers = {
    StartUp: _start_up,
    _AskRoutes: _ask_routes,
    _FirstHeartbeat: _first_heartbeat,
    _WakeIfTold: _wake_if_told,
    KeepOffsets: _keep_offsets,
}
