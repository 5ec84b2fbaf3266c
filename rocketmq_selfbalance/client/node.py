"""A RocketMQ client as a node: one client instance with the consumers of several groups.

Nobody runs a RocketMQ group, so that everything which Kafka does on a broker happens here: asking for routes and
member lists, computing the own share, taking and giving up queues, locks, offsets. One instance serves all groups of
a process, and a notification for one of them wakes all. This file only says who takes what; the parts are beside it.
(What brokers ask of a client, the real one takes in its ``ClientRemotingProcessor``.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState
from rocketmq_selfbalance.client import (
    blocking,
    consuming_orderly,
    lifecycle,
    operator,
    popping,
    pulling,
    rebalance_service,
    requests,
    tasks,
)
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.instance import Instance, Tables
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged
from rocketmq_selfbalance.messages.offsets import PullAnswer, ResetConsumerClientOffset
from rocketmq_selfbalance.messages.requests import Answer
from rocketmq_selfbalance.popping.messages import Done, Received

TABLES = Tables(rebalance_service.rebalance_immediately, requests.CALLS, requests.ANSWERS)


@dataclass(slots=True, init=False, eq=False)
class Client(NodeState):
    """One client instance, under this client id, which knows these name servers.

    Its consumers start one after the other when the process starts; `commands.StartConsumer` adds one later.
    """

    specs: tuple[ConsumerSpec, ...]
    instance: Instance

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
        return tuple(self.instance.consumers)

    @property
    def is_over(self) -> bool:
        """Whether the last consumer has shut down: the instance does nothing any more."""
        return self.instance.ended

    def start(self, now: Time, out: Outbox) -> None:
        client = self.instance
        client.created = client.service.last = now
        blocking.run(client, now, lifecycle.THREAD, [lifecycle.StartUp(spec) for spec in self.specs], out)
        client.tell_owned(out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        client = self.instance
        if isinstance(message, PullAnswer):  # nearly all, where records come in
            pulling.answered(client, now, message, out)
        elif (take := _MESSAGES.get(type(message))) is not None:
            take(client, now, sender, message, out)
        else:
            blocking.answered(client, now, message, out)
        if client.observed.dirty:
            client.tell_owned(out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        client = self.instance
        if timer == rebalance_service.TIMER:
            rebalance_service.run(client, now, out)
        else:
            tasks.DUE[timer[0]](client, now, *timer[1:], out)
        if client.observed.dirty:
            client.tell_owned(out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        client = self.instance
        client.connections.add(peer)
        if client.settings.instance.enable_heartbeat_channel_event_listener and _is_broker(client, peer):
            requests.on_channel_active(client, now, peer, out)
            client.tell_owned(out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        tasks.lost(self.instance, now, (peer,), out)

    def woken(self, now: Time, ended: Sequence[str], out: Outbox) -> None:
        # The network library's threads read the ends before ours, long overdue, ask anything over dead connections.
        self.instance.service.rejoining = dict.fromkeys(ended, False)
        tasks.lost(self.instance, now, ended, out)


def _is_broker(client: Instance, peer: str) -> bool:
    return any(peer in known.values() for known in client.addresses.values())


# Messages that are no answers to a thread's call.


def _answer(client: Instance, now: Time, sender: str, message: Answer, out: Outbox) -> None:
    if message.correlation in client.sent_back:
        consuming_orderly.answered(client, now, message.correlation, message.code, out)
    else:
        blocking.answered(client, now, message, out)


Take: TypeAlias = Callable[[Instance, Time, str, Any, Outbox], None]

_MESSAGES: Mapping[type, Take] = {
    Received: lambda client, now, sender, message, out: popping.answered(client, now, message, out),
    Done: lambda client, now, sender, message, out: None,
    Answer: _answer,
    NotifyConsumerIdsChanged: lambda client, now, sender, message, out: rebalance_service.rebalance_immediately(
        client, now, f"member list changed at {sender}", out
    ),
    ResetConsumerClientOffset: lambda client, now, sender, message, out: operator.reset(
        client, now, message.group, message.topic, message.offsets, out
    ),
    **dict.fromkeys(operator.COMMANDS, operator.take),
}
