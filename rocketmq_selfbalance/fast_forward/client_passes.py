"""Whether a client's next rebalance pass would find what it holds already.

A pass depends on topics, routes and members alone. Who the members are the brokers know: the client's adapter is
asked whether a pass that is told of these would compute what the last one did, and whether the consumer holds that.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import Consumer, share_of
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.rebalance_service import topics_in_turn
from rocketmq_selfbalance.client.threads import BROKER_ASKED
from rocketmq_selfbalance.codes import BROADCASTING, MASTER_ID
from rocketmq_selfbalance.fast_forward.contract import Call
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup
from rocketmq_selfbalance.strategies import AllocationError

Held: TypeAlias = Mapping[str, tuple[Queue, ...]]
"""Topic to queues."""


class _Checked(NamedTuple):
    """What was compared last with these members, and with what result."""

    members: tuple[str, ...]
    topics: tuple[str, ...]
    routes: Held
    held: Held
    repeats: bool
    owned: frozenset[Queue]


class Passes:
    """The passes of one client."""

    __slots__ = ("_agreed", "_checked", "_client", "_refused_at", "_would_repeat")

    def __init__(self, client: Instance) -> None:
        self._client = client
        self._checked: dict[str, _Checked] = {}
        """Group to the last comparison, which is made again when anything else is known."""
        self._agreed: Mapping[str, tuple[str, ...]] | None = None
        """The last members with which a pass would have changed nothing."""
        self._refused_at: Time | None = None
        """The end of the pass after which there were others."""
        self._would_repeat = self.would_repeat

    @property
    def are_known(self) -> bool:
        """Whether a pass would change nothing, as far as the members are known; else the brokers have to tell."""
        return self._agreed is not None and self._all_repeat(self._agreed)

    @property
    def are_refused(self) -> bool:
        """Whether the next pass will change something, as the brokers told before."""
        return self._refused_at == self._client.service.last and not self.are_known

    def calls(self) -> tuple[Call, ...] | None:
        """The questions of a pass, whose claim is `would_repeat`; None where a pass would do anything else."""
        calls: list[Call] = []
        for consumer in self._client.consumers.values():
            if consumer.message_model == BROADCASTING:
                if not self._repeats(consumer, ()):
                    return None
                continue
            same: dict[int, Call] = {}
            for topic in topics_in_turn(consumer):
                known = self._client.askable.get(topic, ())
                call = same.get(id(known))
                if call is None:
                    peers = tuple([addresses.get(MASTER_ID, "") for addresses in known])
                    if not peers or "" in peers:
                        return None
                    claim = self._would_repeat
                    call = same[id(known)] = Call(peers, GetConsumerListByGroup, ConsumerList, BROKER_ASKED, claim)
                calls.append(call)
        return tuple(calls)

    def would_repeat(self, lists: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether a pass changes nothing that finds these members everywhere. ``lists``: group to its members, sorted;
        equal lists are the same object."""
        repeats = self._all_repeat(lists)
        if repeats:
            self._agreed = lists
        else:
            self._refused_at = self._client.service.last
        return repeats

    def _all_repeat(self, lists: Mapping[str, tuple[str, ...]]) -> bool:
        for group, consumer in self._client.consumers.items():
            if consumer.message_model != BROADCASTING:
                members = lists.get(group)
                if members is None or not self._repeats(consumer, members):
                    return False
        return True

    def _repeats(self, consumer: Consumer, members: tuple[str, ...]) -> bool:
        """Whether the consumer holds what it would compute."""
        held = self._client.observed.granted.get(consumer.group, {})
        known = self._checked.get(consumer.group)
        topics = tuple(consumer.subscriptions)
        if (
            known is None
            or known.members is not members
            or known.topics != topics
            or known.routes != consumer.routes
            or known.held != held
        ):
            repeats = held.keys() <= consumer.subscriptions.keys() and _computes(consumer, members, held)
            owned = frozenset(queue for queues in held.values() for queue in queues)
            known = _Checked(members, topics, dict(consumer.routes), dict(held), repeats, owned)
            self._checked[consumer.group] = known
        return known.repeats and known.owned == consumer.table.keys()


def _computes(consumer: Consumer, members: tuple[str, ...], held: Held) -> bool:
    """Whether a pass among these members computes for each topic what is held."""
    for topic in consumer.subscriptions:
        queues = consumer.routes.get(topic)
        try:
            if queues is None or consumer.message_model == BROADCASTING:
                target = queues or ()
            else:
                target = share_of(consumer, queues, members)
        except AllocationError:
            return False
        if target != held.get(topic, ()):
            return False
    return True
