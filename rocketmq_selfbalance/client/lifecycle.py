"""How a consumer starts and shuts down, in five steps each (``start`` and ``shutdown`` of
``DefaultMQPushConsumerImpl`` and of ``MQClientInstance``; spec 3.2, 3.6).

Start: prepare (subscriptions, offsets) · consume service · register with the instance, which starts with its first
consumer · routes of its topics · heartbeat, and wake the rebalance thread. Shutdown: stop consuming (ordered: unlock
all) · keep the offsets · take leave of every broker · stop the instance with its last consumer · drop all queues.

The last consumer takes leave of every broker once more, for the client's own producer. Stopping the instance takes
anything from no time to four seconds, as recordings of real clusters show: until all queues are dropped the client
goes on believing that it owns them, while others have taken them over. The service for POP of an ordered consumer
(`consuming_orderly.SERVICES`) is not stopped: a lock round of it that falls into the shutdown takes the locks again
that were just given up, and they hold until they expire.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted, Transition
from rocketmq_selfbalance.client import blocking, rebalance_service, tasks
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.consuming_orderly import OWN, POP, lock_thread, lock_timer, services
from rocketmq_selfbalance.client.instance import Instance, WakeUp
from rocketmq_selfbalance.client.locks import UnlockAll
from rocketmq_selfbalance.client.offset_store import LocalOffsets, OffsetsFile, RemoteOffsets
from rocketmq_selfbalance.client.pool import Pool, PopPool
from rocketmq_selfbalance.client.removal import PersistAll
from rocketmq_selfbalance.client.requests import Beat, addresses_in_turn
from rocketmq_selfbalance.client.threads import Call, RefreshRoute, Sleep, Thread, Unregister
from rocketmq_selfbalance.codes import CLUSTERING, RETRY_PREFIX
from rocketmq_selfbalance.states import CLIENT, REFUSED, REMOVED, RUNNING, SHUTDOWN, START, STARTED

THREAD = "main"
"""The user's own thread, in which start() and shutdown() run."""


class StartUp(NamedTuple):
    """Start this consumer."""

    spec: ConsumerSpec

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        spec = self.spec
        consumer = _prepared(client, now, spec)
        move(client, consumer, START, out)
        if spec.group in client.consumers:
            move(client, consumer, REFUSED, out)
            out.observe(Noted(f"{spec.member}: this client has a consumer of group {spec.group} already"))
            return
        _start_consuming(client, now, consumer, out)
        client.consumers[spec.group] = consumer
        if not client.running:
            _start_instance(client, now, out)
        move(client, consumer, STARTED, out)
        thread.push(_AskRoutes(spec.group, tuple(consumer.subscriptions)), _FirstHeartbeat(spec.group))


class KeepOffsets(NamedTuple):
    """The user's code wants the offsets of the consumer to be kept now."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers.get(self.group)
        if consumer is not None and consumer.state == RUNNING:
            thread.push(PersistAll(self.group))


class _AskRoutes(NamedTuple):
    group: str
    topics: tuple[str, ...]

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        if not self.topics:
            return None
        thread.push(_AskRoutes(self.group, self.topics[1:]))
        return RefreshRoute(self.topics[0])


class _FirstHeartbeat(NamedTuple):
    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers[self.group]
        # Pull consumers join by the first periodic heartbeat.
        if consumer.kind == PUSH:
            thread.push(Beat(), _WakeIfTold(self.group, f"{consumer.member} started"))


class _WakeIfTold(NamedTuple):
    group: str
    why: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        if thread.value or not client.settings.rebalance.rebalance_min_interval_ms:
            thread.push(WakeUp(self.why))


def _prepared(client: Instance, now: Time, spec: ConsumerSpec) -> Consumer:
    settings = spec.settings
    clustering = settings.message_model == CLUSTERING
    store = RemoteOffsets() if clustering else LocalOffsets(spec.file or OffsetsFile(), spec.settings.version)
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


def subscribe(client: Instance, now: Time, group: str, topic: str, out: Outbox) -> None:
    """``subscribe()`` at run time: brokers are told at once."""
    client.consumers[group].subscribe(topic, now)
    blocking.run(client, now, THREAD, (Beat(),), out)


def move(client: Instance, consumer: Consumer, event: str, out: Outbox) -> None:
    before, consumer.state = consumer.state, CLIENT.next_state(consumer.state, event)
    out.observe(Transition(CLIENT.name, consumer.member, before, event, consumer.state))


INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
"""Every client has a producer of its own, of this group."""


class ShutDown(NamedTuple):
    """Shut the consumer down."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers.get(self.group)
        if consumer is None or consumer.state != RUNNING:
            return
        group = self.group
        unlock = (UnlockAll(group),) if consumer.locks else ()
        thread.push(
            _StopConsuming(group), *unlock, PersistAll(group), _TakeLeave(group), _StopInstance(group), _DropAll(group)
        )


class _StopConsuming(NamedTuple):
    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers[self.group]
        for serial in consumer.pool.running:
            out.cancel_timer(("consumed", self.group, serial))
        for serial in consumer.pop_pool.running:
            out.cancel_timer(("popped", self.group, serial))
        for process_queue in consumer.table.values():
            process_queue.listeners = 0
        # Nothing new is begun, and what runs is interrupted.
        consumer.pool, consumer.pop_pool = Pool(), PopPool()
        consumer.pool.standing_still = True
        for name in ("expired", "poll"):
            out.cancel_timer((name, self.group))
        # The service for POP is not stopped: it goes on renewing locks until there is no connection any more.
        _stop_locking(client, self.group, OWN, out)


class _TakeLeave(NamedTuple):
    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers[self.group]
        move(client, consumer, SHUTDOWN, out)
        blocking.abandon(client, self.group)
        client.observed.abandon(consumer, out)
        thread.push(*(_Unregister(self.group, address) for address in addresses_in_turn(client)))


class _Unregister(NamedTuple):
    group: str
    address: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        return Unregister(self.group, self.address)


class _StopInstance(NamedTuple):
    """With its last consumer the instance goes."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        if _is_last(client):
            leaves = (_Unregister(INNER_PRODUCER_GROUP, address) for address in addresses_in_turn(client))
            thread.push(*leaves, _StopPulling(self.group), _CloseConnections(self.group))


class _StopPulling(NamedTuple):
    """Nothing is pulled any more; pulls that were put off may take their time."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        _stop_threads(client, self.group, out)
        return _may_take(client.settings.instance.pull_service_stop_ms, "pulls are put off at the end", out)


class _CloseConnections(NamedTuple):
    """Nothing is done any more; the thread that hears of connections may take its time."""

    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        _stop_locking(client, self.group, POP, out)
        return _may_take(client.settings.instance.event_executor_stop_ms, "the last connection's end is missed", out)


class _DropAll(NamedTuple):
    group: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumers[self.group]
        last = _is_last(client)
        for queue, process_queue in sorted(consumer.table.items()):
            client.drop(consumer, queue, process_queue, "shutdown", out)
            client.life(consumer, queue, REMOVED, out)
        _stop_locking(client, self.group, POP, out)
        consumer.destroy()
        client.observed.forget_granted(consumer, {}, out)
        client.observed.dirty[self.group] = None
        client.tell_owned(out)
        del client.consumers[self.group]
        if last:
            client.ended = True
            for peer in sorted(client.connections):
                out.close(peer)
            client.connections.clear()


def _stop_locking(client: Instance, group: str, service: str, out: Outbox) -> None:
    out.cancel_timer(lock_timer(group, service))
    blocking.stop(client, lock_thread(group, service), out)


def _is_last(client: Instance) -> bool:
    return len(client.consumers) == 1


def _may_take(wait: Time, label: str, out: Outbox) -> Call | None:
    return Sleep(wait) if wait and out.choose(label, (False, True)) else None


def _stop_threads(client: Instance, group: str, out: Outbox) -> None:
    """All but the caller's and that of the service for POP."""
    client.running = client.heartbeating = False
    for name in [name for name in client.threads if name not in (THREAD, lock_thread(group, POP))]:
        blocking.stop(client, name, out)
    for name in tasks.TASKS:
        out.cancel_timer(("task of", name))
    out.cancel_timer(rebalance_service.TIMER)
    client.service.in_pass = False
    client.service.tell_end(out)
