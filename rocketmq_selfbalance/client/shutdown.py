"""How a consumer shuts down, in five steps (``DefaultMQPushConsumerImpl.shutdown``, and that of the client instance;
spec 3.6).

Stop consuming (ordered: unlock all) · keep the offsets · take leave of every broker · stop the instance with its last
consumer · drop all queues.

The last consumer takes leave of every broker once more, for the client's own producer. Stopping the instance takes
anything from no time to four seconds, as recordings of real clusters show: until all queues are dropped the client
goes on believing that it owns them, while others have taken them over.

The service for POP of an ordered consumer (`consuming_orderly.SERVICES`) is not stopped: a lock round of it that falls
into the shutdown takes the locks again that were just given up, and they hold until they expire.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.client import blocking, rebalance_service, tasks
from rocketmq_selfbalance.client.consuming_orderly import OWN, POP, lock_thread, lock_timer
from rocketmq_selfbalance.client.heartbeat import addresses_in_turn
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.lifecycle import THREAD, move
from rocketmq_selfbalance.client.locks import UnlockAll
from rocketmq_selfbalance.client.persisting import PersistAll
from rocketmq_selfbalance.client.pool import Pool
from rocketmq_selfbalance.client.threads import Call, Handlers, Sleep, Thread, Unregister
from rocketmq_selfbalance.states import REMOVED, RUNNING, SHUTDOWN

INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
"""Every client has a producer of its own, of this group."""


class ShutDown(NamedTuple):
    """Shut the consumer down."""

    group: str


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


class _StopPulling(NamedTuple):
    """Nothing is pulled any more; pulls that were put off may take their time."""

    group: str


class _CloseConnections(NamedTuple):
    """Nothing is done any more; the thread that hears of connections may take its time."""

    group: str


class _DropAll(NamedTuple):
    group: str


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
    # The service for POP is not stopped: it goes on renewing locks until there is no connection any more.
    _stop_locking(client, step.group, OWN, out)
    return None


def _stop_locking(client: Instance, group: str, service: str, out: Outbox) -> None:
    out.cancel_timer(lock_timer(group, service))
    blocking.stop(client, lock_thread(group, service), out)


def _take_leave(client: Instance, now: Time, thread: Thread, step: _TakeLeave, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    move(client, consumer, SHUTDOWN, out)
    blocking.abandon(client, step.group)
    client.observed.abandon(consumer, out)
    thread.push(*(_Unregister(step.group, address) for address in addresses_in_turn(client)))
    return None


def _unregister(client: Instance, now: Time, thread: Thread, step: _Unregister, out: Outbox) -> Call | None:
    return Unregister(step.group, step.address)


def _stop_instance(client: Instance, now: Time, thread: Thread, step: _StopInstance, out: Outbox) -> Call | None:
    if _is_last(client):
        leaves = (_Unregister(INNER_PRODUCER_GROUP, address) for address in addresses_in_turn(client))
        thread.push(*leaves, _StopPulling(step.group), _CloseConnections(step.group))
    return None


def _is_last(client: Instance) -> bool:
    return len(client.consumers) == 1


def _stop_pulling(client: Instance, now: Time, thread: Thread, step: _StopPulling, out: Outbox) -> Call | None:
    _stop_threads(client, step.group, out)
    return _may_take(client.settings.instance.pull_service_stop_ms, "pulls are put off at the end", out)


def _close_connections(
    client: Instance, now: Time, thread: Thread, step: _CloseConnections, out: Outbox
) -> Call | None:
    _stop_locking(client, step.group, POP, out)
    return _may_take(client.settings.instance.event_executor_stop_ms, "the last connection's end is missed", out)


def _may_take(wait: Time, label: str, out: Outbox) -> Call | None:
    return Sleep(wait) if wait and out.choose(label, (False, True)) else None


def _drop_all(client: Instance, now: Time, thread: Thread, step: _DropAll, out: Outbox) -> Call | None:
    consumer = client.consumers[step.group]
    last = _is_last(client)
    for queue, process_queue in sorted(consumer.table.items()):
        client.drop(consumer, queue, process_queue, "shutdown", out)
        client.life(consumer, queue, REMOVED, out)
    _stop_locking(client, step.group, POP, out)
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


HANDLERS: Handlers = {
    ShutDown: _shut_down,
    _StopConsuming: _stop_consuming,
    _TakeLeave: _take_leave,
    _Unregister: _unregister,
    _StopInstance: _stop_instance,
    _StopPulling: _stop_pulling,
    _CloseConnections: _close_connections,
    _DropAll: _drop_all,
}
