"""The periodic tasks of a client instance (``startScheduledTask``): all on one thread, so that a slow one delays the
others (spec 3.3)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.calls import Call, Failure, RefreshRoute
from rocketmq_selfbalance.client.heartbeat import Beat, drop_offline
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.persisting import PersistAll
from rocketmq_selfbalance.client.settings_by_concern import InstanceSettings
from rocketmq_selfbalance.client.threads import Handlers, Thread

THREAD = "scheduled"


class UpdateRoutes(NamedTuple):
    """Ask for the route of each topic of all consumers."""


class PeriodicHeartbeat(NamedTuple):
    """Forget offline addresses, then a round."""


class PersistOffsets(NamedTuple):
    """``persistAllConsumerOffset``: keep the offsets of all consumers."""


class _UpdateNext(NamedTuple):
    topics: tuple[str, ...]


class Task(NamedTuple):
    """What is done, first how long after the start, and then how often."""

    step: type[UpdateRoutes] | type[PeriodicHeartbeat] | type[PersistOffsets]
    first: Callable[[InstanceSettings], Time]
    period: Callable[[InstanceSettings], Time]


TASKS: Mapping[str, Task] = {
    "routes": Task(
        UpdateRoutes,
        lambda its: its.poll_name_server_first_ms,
        lambda its: its.poll_name_server_interval_ms,
    ),
    "heartbeat": Task(
        PeriodicHeartbeat,
        lambda its: its.heartbeat_first_ms,
        lambda its: its.heartbeat_broker_interval_ms,
    ),
    "persist": Task(
        PersistOffsets,
        lambda its: its.persist_first_ms,
        lambda its: its.persist_consumer_offset_interval_ms,
    ),
}


def begin(client: Instance, now: Time, out: Outbox) -> None:
    """Set all tasks going."""
    for name, task in TASKS.items():
        its = client.settings.instance
        client.task_due[name] = now + its.tasks_begin_ms + task.first(its)
        out.set_timer(("task of", name), client.task_due[name])


def due(client: Instance, now: Time, name: str, out: Outbox) -> None:
    """A task has its turn; at a fixed rate, however long it takes."""
    task = TASKS[name]
    client.task_due[name] = max(client.task_due[name] + task.period(client.settings.instance), now)
    out.set_timer(("task of", name), client.task_due[name])
    thread = client.threads.get(THREAD)
    step = task.step()
    # One that still waits for its turn is not there twice.
    if thread is None or step not in thread.left:
        blocking.run(client, now, THREAD, (step,), out)


def _update_routes(client: Instance, now: Time, thread: Thread, step: UpdateRoutes, out: Outbox) -> Call | None:
    topics = sorted_as_java({topic for consumer in client.consumers.values() for topic in consumer.subscriptions})
    thread.value = None
    thread.push(_UpdateNext(tuple(topics)))
    return None


def _update_next(client: Instance, now: Time, thread: Thread, step: _UpdateNext, out: Outbox) -> Call | None:
    # A name server that does not answer ends this round.
    if thread.value is Failure.FAILED or not step.topics:
        return None
    thread.push(_UpdateNext(step.topics[1:]))
    return RefreshRoute(step.topics[0])


def _heartbeat(client: Instance, now: Time, thread: Thread, step: PeriodicHeartbeat, out: Outbox) -> Call | None:
    drop_offline(client)
    thread.push(Beat())
    return None


def _persist(client: Instance, now: Time, thread: Thread, step: PersistOffsets, out: Outbox) -> Call | None:
    thread.push(*(PersistAll(consumer.group) for consumer in client.active()))
    return None


HANDLERS: Handlers = {
    UpdateRoutes: _update_routes,
    _UpdateNext: _update_next,
    PeriodicHeartbeat: _heartbeat,
    PersistOffsets: _persist,
}
