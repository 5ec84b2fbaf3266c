"""The outbox of the simulation's broker before real clients."""

from collections.abc import Sequence
from typing import TypeVar

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.facts import Committed
from rocketmq_selfbalance.messages.locks import LockBatchMqAnswer
from rocketmq_selfbalance.messages.nameserver import RegisterBroker, UnregisterBroker
from rocketmq_selfbalance.wire.served import Served

T = TypeVar("T")


class NamedOutbox:
    """The world's outbox, told under the clients' ids what the simulation's broker observes under their connections."""

    __slots__ = ("out", "served")

    def __init__(self, served: Served, out: Outbox) -> None:
        self.served, self.out = served, out

    def send(self, to: str, message: Message) -> None:
        if type(message) is LockBatchMqAnswer and message.locked:
            self.served.locked = message.locked
        if isinstance(message, RegisterBroker | UnregisterBroker):
            message = message._replace(cluster=self.served.wire.cluster)
        self.out.send(to, message)

    def close(self, peer: str) -> None:
        self.out.close(peer)

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.out.set_timer(name, at)

    def cancel_timer(self, name: TimerName) -> None:
        self.out.cancel_timer(name)

    def observe(self, fact: tuple[object, ...]) -> None:
        if type(fact) is Committed:
            served = self.served
            member = None if fact.member is None else served.client_id(fact.member, fact.group)
            self.out.observe(fact._replace(member=member))
            if not fact.error:
                before = served.broker.offsets.query(fact.group, fact.queue.topic, fact.queue.number)
                served.ownership.commits(
                    served.now, fact.group, member, fact.queue, fact.offset, before, self.out.observe
                )
        else:
            self.out.observe(fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        return self.out.choose(label, options)

    def new_id(self, prefix: str) -> str:
        return self.out.new_id(prefix)
