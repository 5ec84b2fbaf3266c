"""A broker before real clients: the simulation's broker with records that have contents, views for tools, and facts
under the clients' ids.

What the simulation's broker knows (members, offsets, locks, topics, groups, notices) it does itself; pulls, records and
views are handled here.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from protocols.engine.nodes import OPERATOR, Message, Outbox, PassedOn, Time, TimerName
from protocols.facts import Committed
from rocketmq_selfbalance.broker.allocation import POLL
from rocketmq_selfbalance.broker.connections import IDLE, SCAN, scan_in_turns
from rocketmq_selfbalance.broker.node import DELIVER, BrokerNode, schedule_next
from rocketmq_selfbalance.codes import REQUEST_CODE_NOT_SUPPORTED, SUCCESS, SYSTEM_ERROR
from rocketmq_selfbalance.messages.membership import GetConsumerListByGroup, HeartBeat, ResetOffset, UnregisterClient
from rocketmq_selfbalance.messages.nameserver import RegisterBroker, UnregisterBroker
from rocketmq_selfbalance.messages.offsets import SearchOffsetByTimestamp
from rocketmq_selfbalance.messages.popping import (
    Ack,
    BatchAck,
    ChangeInvisible,
    Pop,
    QueryAssignment,
    SetRequestMode,
    ToDeadLetters,
)
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer, UnlockBatchMq
from rocketmq_selfbalance.pop.line import POPPED
from rocketmq_selfbalance.wire import (
    allocation,
    messages,
    offset_views,
    popped,
    popping,
    pulling,
    sending,
    transactions,
)
from rocketmq_selfbalance.wire.served import ClientKind, Served

T = TypeVar("T")


class NamedOutbox(PassedOn):
    """The world's outbox, told under the clients' ids what the simulation's broker observes under their connections."""

    __slots__ = ("served",)

    def __init__(self, served: Served, out: Outbox) -> None:
        super().__init__(out)
        self.served = served

    def send(self, to: str, message: Message) -> None:
        if type(message) is LockBatchMqAnswer and message.locked:
            self.served.locked = message.locked
        if isinstance(message, RegisterBroker | UnregisterBroker):
            message = message._replace(cluster=self.served.wire.cluster)
        self.out.send(to, message)

    def observe(self, fact: tuple[object, ...]) -> None:
        if type(fact) is Committed:
            served = self.served
            member = None if fact.member is None else served.client_id(fact.member, fact.group)
            self.out.observe(fact if member == fact.member else fact._replace(member=member))
            if not fact.error:
                before = served.broker.offsets.query(fact.group, fact.queue.topic, fact.queue.number)
                served.ownership.commits(
                    served.now, fact.group, member, fact.queue, fact.offset, before, self.out.observe
                )
        else:
            self.out.observe(fact)


LOOK = "look who reads"
"""Name of a timer."""

LOOK_MS: Time = 1_000.0


class ServedBroker:
    """A running broker. One that starts again is a new node on the same disk."""

    __slots__ = ("_named", "node", "served")

    def __init__(self, served: Served) -> None:
        self.served = served
        served.arrivals = pulling.arrived, popping.arrived
        self.node = BrokerNode(served.broker)
        self._named: NamedOutbox | None = None

    def start(self, now: Time, out: Outbox) -> None:
        named = self._at(now, out)
        self.served.started = now
        self.served.unfinished.clear()
        popping.begin(self.served)
        self.node.start(now, named)
        schedule_next(self.served.broker, now, named)
        out.set_timer(LOOK, now + LOOK_MS)
        out.set_timer(POLL, now + allocation.FIRST_POLL_MS)
        out.set_timer(transactions.CHECK, now + self.served.wire.transaction_check_interval_ms)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        named = self._at(now, out)
        handle = _REQUESTS.get(type(message))
        if handle is None or sender == OPERATOR:
            self.node.receive(now, sender, message, named)
        else:
            self.served.broker.busy(now, sender)
            handle(self, now, sender, message, named)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        named, served = self._at(now, out), self.served
        if timer == LOOK:
            served.ownership.look(now, served.broker.name, out.observe)
            out.set_timer(LOOK, now + LOOK_MS)
        elif timer == POLL:
            allocation.poll(served, now, out)
        elif timer == transactions.CHECK:
            transactions.check(served, now, named)
        elif timer == DELIVER:
            pulling.delivered(served, now, named)
            schedule_next(served.broker, now, named)
        elif isinstance(timer, tuple) and timer[0] == sending.WRITE:
            sending.go_on(served, now, timer[1], named)
        elif isinstance(timer, tuple) and timer[0] == POPPED:
            popping.due(served, now, timer, named)
        elif timer == SCAN:
            scan_in_turns(served.broker, now, named)
        elif isinstance(timer, tuple) and timer[0] != IDLE:
            pulling.held_due(served, now, timer, named)
        else:
            self.node.timeout(now, timer, named)
            if timer[0] == IDLE and timer[1] not in served.broker.active:
                self._forget(now, timer[1], named)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.connected(now, peer, self._at(now, out))

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        named = self._at(now, out)
        self.node.closed(now, peer, named)
        self._forget(now, peer, named)

    def _forget(self, now: Time, peer: str, out: Outbox) -> None:
        """A connection is closed, and the simulation's broker knows it."""
        served = self.served
        served.filters.pop(peer, None)
        popping.forget(served, peer)
        served.clients.pop(peer, None)
        for group in [group for group, channels in served.producers.items() if peer in channels]:
            del served.producers[group][peer]
            if not served.producers[group]:
                del served.producers[group]
        self._leave(now, peer, out)
        for question in [number for number, (_, _, whom) in served.questions.items() if whom == peer]:
            asker, correlation, _ = served.questions.pop(question)
            out.send(asker, messages.Reply(correlation, SYSTEM_ERROR, remark=f"the client at {peer} has left"))

    def _at(self, now: Time, out: Outbox) -> NamedOutbox:
        if self._named is None or self._named.out is not out:
            self._named = NamedOutbox(self.served, out)
        self.served.now = now
        return self._named

    # Members.

    def heartbeat(self, now: Time, sender: str, message: messages.ClientHeartbeat, out: Outbox) -> None:
        served, broker = self.served, self.served.broker
        beat = message.beat
        kind = ClientKind(beat.client_id, message.language, message.version)
        served.clients[sender] = kind
        for group in message.producers:
            served.producers.setdefault(group, {})[sender] = kind
        if message.without_subscriptions:
            known = all(
                consumer.group in broker.consumers.groups and sender in broker.consumers.groups[consumer.group].channels
                for consumer in beat.consumers
            )
            if not known:  # a broker that has started again: the client shall send all of it
                fields = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
                out.send(sender, messages.Reply(message.correlation, SUCCESS, fields))
                return
            for consumer in beat.consumers:
                broker.consumers.register_without_subscriptions(now, sender, beat.client_id, consumer)
            beat = HeartBeat(beat.correlation, beat.client_id, ())
        room = [consumer for consumer in beat.consumers if self._has_room(consumer.group)]
        self.node.receive(now, sender, beat._replace(consumers=tuple(room)), out)
        for each in room:
            places = served.places.setdefault(sender, {})
            if served.client_id(sender, each.group) is not None and places.get(each.group) != beat.client_id:
                before = places.get(each.group)
                if before is not None:
                    served.ownership.left(now, each.group, before, broker.name, sender, out.observe)
                places[each.group] = beat.client_id
                served.ownership.joined(now, each.group, beat.client_id, broker.name, sender)

    def _has_room(self, group: str) -> bool:
        groups, wire = self.served.broker.disk.groups, self.served.wire
        return group in groups.configs or len(groups.configs) < wire.most_groups

    def unregister(self, now: Time, sender: str, message: UnregisterClient, out: Outbox) -> None:
        """A client's consumer leaves its group; the name of a group of producers, or of none, does nothing."""
        self.node.receive(now, sender, message, out)
        self._leave(now, sender, out)

    def _leave(self, now: Time, peer: str, out: Outbox) -> None:
        """Clients on this connection that are in a group no more have nothing of it."""
        served = self.served
        places = served.places.get(peer, {})
        for group, member in list(places.items()):
            if served.client_id(peer, group) is None:
                del places[group]
                served.ownership.left(now, group, member, served.broker.name, peer, out.observe)
        if not places:
            served.places.pop(peer, None)

    def member_list(self, now: Time, sender: str, message: GetConsumerListByGroup, out: Outbox) -> None:
        member = self.served.client_id(sender, message.group)
        if member is not None:
            self.served.ownership.asked_for_members(now, message.group, member, out.observe)
        self.node.receive(now, sender, message, out)

    def lock(self, now: Time, sender: str, message: LockBatchMq, out: Outbox) -> None:
        self.served.locked = ()
        self.node.receive(now, sender, message, out)
        self.served.ownership.locks(message.group, message.client_id, self.served.locked, out.observe)

    def unlock(self, now: Time, sender: str, message: UnlockBatchMq, out: Outbox) -> None:
        self.node.receive(now, sender, message, out)
        self.served.ownership.unlocks(message.group, message.client_id, message.queues, out.observe)

    # The rest.

    def administer(self, now: Time, sender: str, message: messages.Administer, out: Outbox) -> None:
        command = message.command
        if isinstance(command, ResetOffset) and command.timestamp >= 0:
            # A time before the cluster began is its beginning: below 0 would mean the end of the queue.
            command = command._replace(timestamp=max(command.timestamp - self.served.epoch_ms, 0.0))
        self.node.receive(now, OPERATOR, command, out)
        if isinstance(command, ResetOffset):
            out.send(sender, offset_views.reset_answer(self.served, now, message.correlation, command))
        else:
            out.send(sender, Answer(message.correlation, SUCCESS))

    def search_offset(self, now: Time, sender: str, message: SearchOffsetByTimestamp, out: Outbox) -> None:
        """A client asks which record was stored at a time, in milliseconds since 1970."""
        timestamp = message.timestamp - self.served.epoch_ms
        self.node.receive(now, sender, message._replace(timestamp=timestamp), out)

    def asked(self, now: Time, sender: str, message: messages.Ask, out: Outbox) -> None:
        reply = offset_views.view(self.served, now, sender, message, out)
        if reply is not None:
            out.send(sender, reply)

    def client_answered(self, now: Time, sender: str, message: messages.ClientAnswer, out: Outbox) -> None:
        asked = self.served.questions.pop(message.question, None)
        if asked is not None:
            out.send(asked[0], messages.Reply(asked[1], message.code, body=message.body, remark=message.remark))

    def malformed(self, now: Time, sender: str, message: messages.Malformed, out: Outbox) -> None:
        out.send(sender, messages.Reply(message.correlation, SYSTEM_ERROR, remark=message.why))

    def unsupported(self, now: Time, sender: str, message: messages.Unsupported, out: Outbox) -> None:
        out.send(sender, not_supported(message))


def not_supported(message: messages.Unsupported) -> messages.Reply:
    """What a real server says to a request number that it does not know."""
    remark = f" request type {message.code} not supported"
    return messages.Reply(message.correlation, REQUEST_CODE_NOT_SUPPORTED, remark=remark)


_Handle: TypeAlias = Callable[[ServedBroker, Time, str, Any, Outbox], None]

_REQUESTS: Mapping[type[Message], _Handle] = {
    messages.Pull: lambda broker, *event: pulling.pull(broker.served, *event),
    messages.SendMessage: lambda broker, *event: sending.send(broker.served, *event),
    messages.SendHalf: lambda broker, *event: transactions.send_half(broker.served, *event),
    messages.EndHalf: lambda broker, *event: transactions.end_half(broker.served, *event),
    Pop: lambda broker, *event: popping.pop(broker.served, *event),
    Ack: lambda broker, *event: popped.ack(broker.served, *event),
    BatchAck: lambda broker, *event: popped.ack_batch(broker.served, *event),
    QueryAssignment: lambda broker, *event: allocation.answer(broker.served, *event),
    SetRequestMode: lambda broker, *event: allocation.set_mode(broker.served, *event),
    ChangeInvisible: lambda broker, *event: popped.change(broker.served, *event),
    ToDeadLetters: lambda broker, *event: popped.bury(broker.served, *event),
    messages.SendBack: lambda broker, *event: sending.send_back(broker.served, *event),
    messages.ClientHeartbeat: ServedBroker.heartbeat,
    UnregisterClient: ServedBroker.unregister,
    GetConsumerListByGroup: ServedBroker.member_list,
    LockBatchMq: ServedBroker.lock,
    UnlockBatchMq: ServedBroker.unlock,
    SearchOffsetByTimestamp: ServedBroker.search_offset,
    messages.Administer: ServedBroker.administer,
    messages.Ask: ServedBroker.asked,
    messages.ClientAnswer: ServedBroker.client_answered,
    messages.Malformed: ServedBroker.malformed,
    messages.Unsupported: ServedBroker.unsupported,
}
