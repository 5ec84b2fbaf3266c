"""A RocketMQ client as a node: one client instance with the consumers of several groups.

This file only says who takes what; the parts are beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from rocketmq_selfbalance.client import (
    changed,
    consuming,
    consuming_orderly,
    giving_back,
    heartbeat,
    lifecycle,
    locks,
    operator,
    persisting,
    polling,
    pull_from_where,
    pulling,
    rebalance,
    rebalance_service,
    removal,
    requests,
    resetting,
    routing,
    table_update,
    tasks,
)
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.instance import Instance, Tables
from rocketmq_selfbalance.client.instance_state import copy_of, key_of
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.client.settings import PUSH, ClientSettings
from rocketmq_selfbalance.client.threads import Handlers
from rocketmq_selfbalance.messages.answer import Answer
from rocketmq_selfbalance.messages.locks import UnlockBatchMq
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged
from rocketmq_selfbalance.messages.offsets import ResetConsumerClientOffset
from rocketmq_selfbalance.messages.pulling import PullAnswer

STEPS: Handlers = {
    **pull_from_where.HANDLERS,
    **persisting.HANDLERS,
    **removal.HANDLERS,
    **changed.HANDLERS,
    **table_update.HANDLERS,
    **rebalance.HANDLERS,
    **locks.HANDLERS,
    **resetting.HANDLERS,
    **heartbeat.HANDLERS,
    **rebalance_service.HANDLERS,
    **tasks.HANDLERS,
    **lifecycle.HANDLERS,
    **pulling.HANDLERS,
    **polling.HANDLERS,
    **consuming_orderly.HANDLERS,
}
"""All steps that threads take."""

TABLES = Tables(STEPS, requests.CALLS, requests.ANSWERS)


class Client:
    """One client instance, under this client id, which knows these name servers.

    Its consumers start one after the other when the process starts; `commands.StartConsumer` adds one later.
    """

    __slots__ = ("instance", "specs")

    def __init__(
        self,
        client_id: str,
        name_servers: Sequence[str],
        specs: Sequence[ConsumerSpec],
        settings: ClientSettings | None = None,
    ) -> None:
        """``settings`` of the instance (its tasks and its rebalance thread); None: those of the first consumer."""
        chosen = settings or (specs[0].settings if specs else ClientSettings())
        self.specs = tuple(specs)
        self.instance = Instance(client_id, tuple(name_servers), chosen, TABLES)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that have a consumer here, in the order of their start."""
        return tuple(self.instance.consumers)

    @property
    def is_over(self) -> bool:
        """Whether the last consumer has shut down: the instance does nothing any more."""
        return self.instance.ended

    def start(self, now: Time, out: Outbox) -> None:
        client = self._at(now, out)
        client.created = client.service.last = now
        client.run(lifecycle.THREAD, *(lifecycle.StartUp(spec) for spec in self.specs))
        client.tell_owned()

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        client = self._at(now, out)
        take = _MESSAGES.get(type(message))
        if take is not None:
            take(client, sender, message)
        else:
            client.answered(message)
        if client.dirty:
            client.tell_owned()

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        client = self._at(now, out)
        if timer == rebalance_service.TIMER:
            rebalance_service.look(client)
        else:
            _TIMERS[timer[0]](client, *timer[1:])
        if client.dirty:
            client.tell_owned()

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        client = self._at(now, out)
        client.connections.add(peer)
        if client.settings.enable_heartbeat_channel_event_listener and _is_broker(client, peer):
            rebalance_service.connected(client, peer)
            client.tell_owned()

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self._lost(now, (peer,), out)

    def woken(self, now: Time, ended: Sequence[str], out: Outbox) -> None:
        # The network library's threads read the ends before ours, long overdue, ask anything over dead connections.
        self.instance.service.rejoining = dict.fromkeys(ended, False)
        self._lost(now, ended, out)

    def copy(self) -> Self:
        copy: Self = object.__new__(type(self))
        copy.specs = self.specs
        copy.instance = copy_of(self.instance)
        return copy

    def key(self, now: Time) -> tuple[Any, ...]:
        return key_of(self.instance, now)

    def _lost(self, now: Time, peers: Sequence[str], out: Outbox) -> None:
        """The connections to these peers are gone: what was asked there is not answered."""
        client = self._at(now, out)
        client.connections.difference_update(peers)
        for peer in peers:
            if peer in client.name_servers:
                routing.name_server_failed(client, peer)
        client.failed(peers)
        for peer in peers:
            pulling.connection_lost(client, peer)
            giving_back.connection_lost(client, peer)
        client.tell_owned()

    def _at(self, now: Time, out: Outbox) -> Instance:
        client = self.instance
        client.now, client.out = now, out
        return client


def _is_broker(client: Instance, peer: str) -> bool:
    return any(peer in known.values() for known in client.addresses.values())


# Messages that are no answers to a thread's call.


def _notified(client: Instance, sender: str, message: NotifyConsumerIdsChanged) -> None:
    rebalance_service.wake(client, _changed_at(sender))


def _changed_at(broker: str) -> str:
    return f"member list changed at {broker}"


def _reset(client: Instance, sender: str, message: ResetConsumerClientOffset) -> None:
    operator.reset(client, message.group, message.topic, message.offsets)


def _pull_answered(client: Instance, sender: str, message: PullAnswer) -> None:
    pulling.answered(client, message)


def _answer(client: Instance, sender: str, message: Answer) -> None:
    if message.correlation in client.sent_back:
        giving_back.answered(client, message.correlation, message.code)
    else:
        client.answered(message)


Take: TypeAlias = Callable[[Instance, str, Any], None]

_MESSAGES: Mapping[type[Any], Take] = {
    PullAnswer: _pull_answered,
    Answer: _answer,
    NotifyConsumerIdsChanged: _notified,
    ResetConsumerClientOffset: _reset,
    **dict.fromkeys(operator.COMMANDS, operator.take),
}


# Timers: the first part of their names to who takes them.


def _thread_waited(client: Instance, thread: str) -> None:
    if not client.is_overdue(thread):
        return
    asked = [each.address for each in client.asked.values() if each.thread == thread]
    for address in asked:
        if address in client.name_servers:
            routing.name_server_failed(client, address)
    client.waited_enough(thread)


def _consumed(client: Instance, group: str, serial: int) -> None:
    consumer = client.consumers.get(group)
    if consumer is None or serial not in consumer.pool.running:
        return
    if consumer.kind != PUSH:
        polling.consumed(client, consumer, serial)
    elif consumer.orderly:
        consuming_orderly.consumed(client, consumer, serial)
    else:
        consuming.consumed(client, consumer, serial)


def _again(client: Instance, group: str, *batch: Any) -> None:
    consumer = client.consumers.get(group)
    if consumer is not None:
        consuming.submit(client, consumer, Batch(*batch))


def _task(client: Instance, group: str, queue: Any) -> None:
    consumer = client.consumers.get(group)
    process_queue = consumer.table.get(queue) if consumer is not None else None
    if consumer is not None and process_queue is not None:
        consuming_orderly.submit(client, consumer, queue, process_queue.number)


def _unlock(client: Instance, group: str, queue: Any) -> None:
    consumer, address = client.consumers.get(group), client.master(queue.broker)
    if consumer is not None and address is not None:
        client.out.send(address, UnlockBatchMq(client.next_correlation(), group, client.client_id, (queue,), True))


def _of_consumer(work: Callable[..., None]) -> Callable[..., None]:
    """For timers that name a group: its consumer, if it is still there."""

    def take(client: Instance, group: str, *rest: Any) -> None:
        consumer = client.consumers.get(group)
        if consumer is not None:
            work(client, consumer, *rest)

    return take


_TIMERS: Mapping[str, Callable[..., None]] = {
    "thread": _thread_waited,
    "task of": tasks.due,
    "wake": rebalance_service.wake,
    "pull": pulling.due,
    "pull timeout": pulling.overdue,
    "repair": pulling.repair,
    "consumed": _consumed,
    "again": _again,
    "task": _task,
    "unlock": _unlock,
    "lock": _of_consumer(consuming_orderly.renew_locks),
    "try lock": _of_consumer(consuming_orderly.try_lock),
    "expired": _of_consumer(consuming.clean_expired),
    "poll": _of_consumer(polling.poll),
    "pull task": _of_consumer(polling.begin_pulling),
    "assigned": polling.assigned,
    "sent back": lambda client, number: giving_back.answered(client, number, None),
}
