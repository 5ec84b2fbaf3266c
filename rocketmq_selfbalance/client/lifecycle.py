"""How a consumer starts, in five steps, and shuts down, in five (``start`` and ``shutdown`` of
``DefaultMQPushConsumerImpl`` and of ``MQClientInstance``; spec 3.2, 3.6).

Start: prepare (subscriptions, offsets) · consume service · register with the instance, which starts with its first
consumer · routes of its topics · heartbeat, and wake the rebalance thread. Shutdown: stop consuming (ordered: unlock
all) · keep the offsets · take leave of every broker · stop the instance with its last consumer · drop all queues.

The last consumer takes leave of every broker once more, for the client's own producer. Stopping the instance takes
anything from no time to four seconds, as recordings of real clusters show: until all queues are dropped the client
goes on believing that it owns them, while others have taken them over.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted, Transition
from rocketmq_selfbalance.client import blocking, rebalance_service, tasks
from rocketmq_selfbalance.client.calls import Call, RefreshRoute, Sleep, Unregister
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.consuming_orderly import lock_thread, lock_timer, services
from rocketmq_selfbalance.client.heartbeat import Beat, addresses_in_turn
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.locks import UnlockAll
from rocketmq_selfbalance.client.offset_store import LocalOffsets, OffsetsFile, RemoteOffsets
from rocketmq_selfbalance.client.persisting import PersistAll
from rocketmq_selfbalance.client.pool import Pool
from rocketmq_selfbalance.client.service import WakeUp
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.codes import CLUSTERING, RETRY_PREFIX
from rocketmq_selfbalance.states import CLIENT, REFUSED, REMOVED, RUNNING, SHUTDOWN, START, STARTED

THREAD = "main"
"""The user's own thread, in which start() and shutdown() run."""

INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
"""Every client has a producer of its own, of this group."""


class StartUp(NamedTuple):
    """Start this consumer."""

    spec: ConsumerSpec


class ShutDown(NamedTuple):
    """Shut the consumer down."""

    group: str


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


class _StopConsuming(NamedTuple):
    group: str


class _TakeLeave(NamedTuple):
    group: str


class _Unregister(NamedTuple):
    group: str
    address: str


class _StopInstance(NamedTuple):
    """With its last consumer the instance goes."""

    group: str


class _Stop(NamedTuple):
    """Nothing is done any more; some threads take their time."""


class _DropAll(NamedTuple):
    group: str


def _start_up(client: Instance, now: Time, thread: Thread, step: StartUp, out: Outbox) -> Call | None:
    spec = step.spec
    consumer = _prepared(client, now, spec)
    _move(client, consumer, START, out)
    if spec.group in client.consumers:
        _move(client, consumer, REFUSED, out)
        out.observe(Noted(f"{spec.member}: this client has a consumer of group {spec.group} already"))
        return None
    _start_consuming(client, now, consumer, out)
    client.consumers[spec.group] = consumer
    if not client.running:
        _start_instance(client, now, out)
    _move(client, consumer, STARTED, out)
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


def _shut_down(client: Instance, now: Time, thread: Thread, step: ShutDown, out: Outbox) -> Call | None:
    consumer = client.consumers.get(step.group)
    if consumer is None or consumer.state != RUNNING:
        return None
    group = step.group
    unlock = (UnlockAll(group),) if consumer.locks else ()
    thread.push(
        _StopConsuming(group), *unlock, PersistAll(group), _TakeLeave(group), _StopInstance(group), _DropAll(group)
    )
    return None


def _keep_offsets(client: Instance, now: Time, thread: Thread, step: KeepOffsets, out: Outbox) -> Call | None:
    consumer = client.consumers.get(step.group)
    if consumer is not None and consumer.state == RUNNING:
        thread.push(PersistAll(step.group))
    return None


def _stop_consuming(client: Instance, now: Time, thread: Thread, step: _StopConsuming, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    for serial in consumer.pool.running:
        out.cancel_timer(("consumed", step.group, serial))
    for process_queue in consumer.table.values():
        process_queue.listeners = 0
    # Nothing new is begun, and what runs is interrupted.
    consumer.pool = Pool()
    consumer.pool.standing_still = True
    for name in ("expired", "poll"):
        out.cancel_timer((name, step.group))
    for service in services(consumer):
        out.cancel_timer(lock_timer(step.group, service))
        blocking.stop(client, lock_thread(step.group, service), out)
    return None


def _take_leave(client: Instance, now: Time, thread: Thread, step: _TakeLeave, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    _move(client, consumer, SHUTDOWN, out)
    blocking.abandon(client, step.group)
    client.observed.abandon(consumer, out)
    thread.push(*(_Unregister(step.group, address) for address in addresses_in_turn(client)))
    return None


def _unregister(client: Instance, now: Time, thread: Thread, step: _Unregister, out: Outbox) -> Call | None:
    return Unregister(step.group, step.address)


def _stop_instance(client: Instance, now: Time, thread: Thread, step: _StopInstance, out: Outbox) -> Call | None:
    if _is_last(client):
        thread.push(*(_Unregister(INNER_PRODUCER_GROUP, address) for address in addresses_in_turn(client)), _Stop())
    return None


def _is_last(client: Instance) -> bool:
    return len(client.consumers) == 1


def _stop(client: Instance, now: Time, thread: Thread, step: _Stop, out: Outbox) -> Call | None:
    _stop_threads(client, out)
    settings = client.settings
    waits = [
        wait
        for label, wait in (
            ("pulls are put off at the end", settings.instance.pull_service_stop_ms),
            ("the last connection's end is missed", settings.instance.event_executor_stop_ms),
        )
        if wait and out.choose(label, (False, True))
    ]
    return Sleep(sum(waits)) if waits else None


def _drop_all(client: Instance, now: Time, thread: Thread, step: _DropAll, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    last = _is_last(client)
    for queue, process_queue in sorted(consumer.table.items()):
        client.drop(consumer, queue, process_queue, "shutdown", out)
        client.life(consumer, queue, REMOVED, out)
    consumer.destroy()
    client.observed.forget_granted(consumer, {}, out)
    client.observed.dirty[step.group] = None
    client.tell_owned(out)
    del client.consumers[step.group]
    if last:
        client.ended = True
        for peer in sorted(client.connections):
            out.close(peer)
        client.connections.clear()
    return None


def _stop_threads(client: Instance, out: Outbox) -> None:
    client.running = client.heartbeating = False
    for name in [name for name in client.threads if name != THREAD]:
        blocking.stop(client, name, out)
    for name in tasks.TASKS:
        out.cancel_timer(("task of", name))
    out.cancel_timer(rebalance_service.TIMER)
    client.service.in_pass = False
    client.service.tell_end(out)


def _move(client: Instance, consumer: Consumer, event: str, out: Outbox) -> None:
    before, consumer.state = consumer.state, CLIENT.next_state(consumer.state, event)
    out.observe(Transition(CLIENT.name, consumer.member, before, event, consumer.state))


HANDLERS: Handlers = {
    StartUp: _start_up,
    _AskRoutes: _ask_routes,
    _FirstHeartbeat: _first_heartbeat,
    _WakeIfTold: _wake_if_told,
    ShutDown: _shut_down,
    KeepOffsets: _keep_offsets,
    _StopConsuming: _stop_consuming,
    _TakeLeave: _take_leave,
    _Unregister: _unregister,
    _StopInstance: _stop_instance,
    _Stop: _stop,
    _DropAll: _drop_all,
}
