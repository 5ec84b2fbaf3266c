"""What the explorer has to know of RocketMQ's nodes (`protocols.engine.exploration`)."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Final

from protocols.engine.exploration.rules import NodeRules
from protocols.engine.nodes import Time, TimerName
from rocketmq_selfbalance.broker import BrokerNode
from rocketmq_selfbalance.broker.connections import IDLE
from rocketmq_selfbalance.broker.state import Disk
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo
from rocketmq_selfbalance.nameserver import NameServer


class _Disks:
    """What a broker has on its disk outlives it; see `protocols.engine.exploration.rules.Lasting`."""

    def remains(self, node: BrokerNode) -> Disk:
        return node.state.disk.copy()

    def take_over(self, node: BrokerNode, name: str, remains: Mapping[str, Disk]) -> None:
        if name in remains:
            node.state.disk = remains[name].copy()


class _Requests:
    """See `protocols.engine.exploration.rules.Numbering`."""

    def outstanding(self, node: Client) -> Mapping[int, str]:
        client = node.instance
        return {
            **{number: each.address for number, each in client.asked.items()},
            **{number: each.address for number, each in client.pulled.items()},
            **{number: each.address for number, each in client.popping.items()},
            **{number: each.address for number, each in client.sent_back.items()},
        }

    def restart(self, node: Client, number: int) -> None:
        node.instance.correlation = number

    def rename(self, node: Client, names: Mapping[int, int]) -> None:
        client = node.instance
        client.asked = {names.get(number, number): each for number, each in client.asked.items()}
        client.pulled = {names.get(number, number): each for number, each in client.pulled.items()}
        client.popping = {names.get(number, number): each for number, each in client.popping.items()}
        client.sent_back = {names.get(number, number): each for number, each in client.sent_back.items()}


def _forget_in_broker(node: BrokerNode, timers: dict[TimerName, Time]) -> None:
    """Statistics; and the timers that look whether a connection is idle, which the broker moves only when they fire,
    stand where they are needed."""
    broker = node.state
    broker.offsets.pulls = {}
    for timer in timers:
        if timer[0] == IDLE:
            timers[timer] = broker.active[timer[1]] + broker.settings.server_channel_max_idle_ms


def _forget_in_client(node: Client, timers: dict[TimerName, Time]) -> None:
    """The timers of threads that wait for answers, likewise."""
    client = node.instance
    for thread in list(client.watched):
        until = min((asked.until for asked in client.asked.values() if asked.thread == thread), default=None)
        if until is None:
            del client.watched[thread]
            timers.pop(("thread", thread), None)
        else:
            client.watched[thread] = timers["thread", thread] = until


def _seen(node: object) -> Hashable:
    if not isinstance(node, Client):
        return type(node).__name__
    return "Client", tuple(node.instance.consumers), bool(node.instance.threads)


_HOUSEKEEPING: Final = frozenset({"scan brokers", "register", "flush", "held pull", "pull timeout", "expired"})
"""By the first parts of the timers' names; and the client's refreshing of routes."""


def _housekeeping(timer: TimerName) -> bool:
    return timer == ("task of", "routes") or (timer if isinstance(timer, str) else timer[0]) in _HOUSEKEEPING


_RULES: Final = NodeRules(
    numberings={Client: _Requests()},
    clients=(Client,),
    seen=_seen,
    answering=(NameServer,),
    constant=(GetRouteInfo,),
    housekeeping=_housekeeping,
    forget={BrokerNode: _forget_in_broker, Client: _forget_in_client},
)

_RULES_OF_DISKS: Final = replace(_RULES, lasting={BrokerNode: _Disks()}, housekeeping=lambda timer: False)


def rules(*, brokers_end: bool) -> NodeRules:
    """Of a world in which brokers end and return, or none does."""
    return _RULES_OF_DISKS if brokers_end else _RULES
