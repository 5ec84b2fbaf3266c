"""When a broker is quiescent, and how it is moved on over messages that were skipped.

Harmless are heartbeats that repeat what is known, questions for a member list that is known, commits and locks that
repeat themselves, pulls that will be held until their time is over as the one before was. What else a broker does by
the clock (records that arrive for held pulls, deliveries) is simulated.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.facts import Committed
from protocols.java import Queue
from protocols.load import Production
from rocketmq_selfbalance.broker import connections, pulls
from rocketmq_selfbalance.broker.connections import FLUSH, IDLE, NOTIFY, SCAN
from rocketmq_selfbalance.broker.node import BrokerNode
from rocketmq_selfbalance.broker.state import Broker, HeldPull
from rocketmq_selfbalance.client.consumer import in_order
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.fast_forward import contract
from rocketmq_selfbalance.messages.membership import ConsumerData, GetConsumerListByGroup, HeartBeat
from rocketmq_selfbalance.messages.nameserver import RegisterBroker
from rocketmq_selfbalance.messages.offsets import PullMessage, UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import LockBatchMq


class Beating(NamedTuple):
    """What a heartbeat has to say so that it changes nothing."""

    client_id: str
    consumers: tuple[ConsumerData, ...]
    """Sorted by group."""


class RepeatedCommits:
    """Which clients' commits change nothing, as of one question whether the broker is quiescent."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._moving: dict[tuple[str, Queue], str] = {}
        """Group and queue that takes in records evenly to the first client that said it commits there."""

    def agrees(self, channel: str, claim: Mapping[tuple[str, Queue], int]) -> bool:
        """Whether the client's commits repeat what is stored, or go on with what it reads alone as it comes in."""
        broker = self._broker
        for (group, queue), offset in claim.items():
            stored = broker.disk.store.queue(queue.topic, queue.number)
            if stored is not None and not stored.records and stored.production.per_second > 0:
                if self._moving.setdefault((group, queue), channel) != channel:
                    return False
            elif broker.offsets.query(group, queue.topic, queue.number) != offset:
                return False
        return True


Key: TypeAlias = tuple[str, str, int]
"""Group, topic and queue number."""


class BrokerAdapter:
    """A broker from outside."""

    def __init__(self, node: BrokerNode) -> None:
        self.broker = node.state
        self.judges: Mapping[type[Message], contract.Judgement] = {PullMessage: self._judge}
        self._beating: dict[str, Beating] = {}
        """Channel to its heartbeat, as of the last question whether the broker is quiescent."""
        self.told: dict[Key, int] = {}
        """Of reading that is being skipped: what was committed when it began, or is written of it by all its readers
        (two, while a queue changes hands)."""

    def quiescence(self, now: Time) -> contract.Quiescence | None:
        """Claims of a client: of heartbeats `Beating`; of member lists whether it would do nothing if it were given
        them; of locks those that it holds, about a group; of commits group and queue to offset."""
        broker = self.broker
        harmless: dict[tuple[str, type[Message]], object] = {}
        missed: dict[tuple[str, type[Message]], Time] = {}
        patience = min(broker.settings.channel_expired_timeout_ms, broker.settings.server_channel_max_idle_ms)
        lists = {name: in_order(broker.consumers.client_ids(name) or ()) for name in broker.consumers.groups}
        members = contract.Judge(lambda would_repeat: would_repeat(lists))
        repeated = RepeatedCommits(broker)
        resets = any(broker.offsets.resets.values())
        for group in broker.consumers.groups.values():
            for channel, known in group.channels.items():
                noticed = known.last_update + patience
                missed[channel, HeartBeat] = min(noticed, missed.get((channel, HeartBeat), noticed))
        self._beating = _beating(broker)
        locks = _locks(broker)
        for channel, beating in self._beating.items():
            harmless[channel, HeartBeat] = beating
            harmless[channel, GetConsumerListByGroup] = members
            held = locks.get(beating.client_id, {})
            harmless[channel, LockBatchMq] = {data.group: held.get(data.group, ()) for data in beating.consumers}
            harmless[channel, PullMessage] = None
            if not resets:
                harmless[channel, UpdateConsumerOffset] = contract.Judge(partial(repeated.agrees, channel))
        guarded: dict[TimerName, contract.Guard] = {
            (IDLE, peer): contract.Guard(peer, HeartBeat) for peer in broker.active
        }
        return contract.Quiescence(_exchanges(broker), harmless, guarded, missed, held=_held(broker, now, resets))

    def replay_messages(
        self, now: Time, sender: str, kind: type[Message], about: Any, out: contract.ReplayOutbox
    ) -> None:
        broker = self.broker
        broker.busy(now, sender)
        if kind is HeartBeat:
            connections.put_off_idle_check(broker, now, sender, out)
            for data in self._beating[sender].consumers:
                group = broker.consumers.groups[data.group]
                group.channels[sender].last_update = now
                group.last_update = max(group.last_update, now)
        elif kind is PullMessage:
            _hold_again(broker, now, sender, about, out)
        elif kind is LockBatchMq:
            client_id = self._beating[sender].client_id
            for queue in _locks(broker)[client_id].get(about, ()):
                broker.locks.try_lock(now, about, queue, client_id)

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        if timer == FLUSH:
            connections.persist(self.broker)

    @property
    def has_resets(self) -> bool:
        """Whether a pull may be told to go on elsewhere."""
        return any(self.broker.offsets.resets.values())

    def production(self, now: Time, sender: str, pull: PullMessage) -> Production | None:
        """What the queue takes in for which this is asked; None where anything else would happen than the answer."""
        return _production(self.broker, now, pull) if sender in self._beating else None

    def replay_reader(self, now: Time, sender: str, stretch: contract.Stretch, out: contract.ReplayOutbox) -> None:
        """So far the sender has come until now."""
        _replay_reader(self.broker, self.told, now, sender, stretch, out)

    def _judge(self, now: Time, sender: str, pull: PullMessage) -> contract.Renewal | None:
        """What follows of a pull that is under way, if it will be held until its time is over, and changes nothing."""
        if pull.suspend_ms <= 0 or any(self.broker.offsets.resets.values()):
            return None
        if not _is_repeated_pull(self.broker, now, pull):
            return None
        return contract.Renewal(pull.suspend_ms, pull.suspend_ms)


def _exchanges(broker: Broker) -> tuple[contract.Exchange, ...]:
    settings, version = broker.settings, broker.disk.topics.version
    told = tuple(contract.Call((name,), RegisterBroker, None, claim=version) for name in broker.name_servers)
    found = [
        contract.Exchange(connections.REGISTER, connections.period(settings), told),
        contract.Exchange(SCAN, settings.scan_channels_interval_ms),
        contract.Exchange(FLUSH, settings.flush_consumer_offset_interval_ms),
    ]
    if not settings.real_time_notify_consumer_change and not broker.changed_groups:
        found.append(contract.Exchange(NOTIFY, settings.collected_notify_interval_ms))
    return tuple(found)


def _beating(broker: Broker) -> dict[str, Beating]:
    """Channel to the heartbeat that would change nothing: it says of each group what the group was told last by
    everybody. Channels that would change something are left out."""
    beatings: dict[str, Beating] = {}
    restless: set[str] = set()
    for name, group in sorted(broker.consumers.groups.items()):
        mode = group.consume_type, group.message_model, group.consume_from_where
        for channel, known in group.channels.items():
            if known.subscriptions is None or known.revision != group.revision:
                restless.add(channel)
                continue
            data = ConsumerData(name, *mode, known.subscriptions)
            before = beatings.get(channel)
            if before is None:
                beatings[channel] = Beating(known.client_id, (data,))
            else:
                beatings[channel] = before._replace(consumers=(*before.consumers, data))
    for channel in restless:
        beatings.pop(channel, None)
    return beatings


def _held(broker: Broker, now: Time, resets: bool) -> list[contract.Held]:
    return [
        contract.Held(
            each.timer,
            each.sender,
            each.message,
            each.arrival is None and not resets and _is_repeated_pull(broker, now, each.message),
        )
        for waiting in broker.held.values()
        for each in waiting
    ]


def _is_repeated_pull(broker: Broker, now: Time, pull: PullMessage) -> bool:
    """Whether an equal pull finds nothing, now and later, and commits nothing new. (A record that is sent back is
    delivered by a timer.)"""
    group, (topic, _, number), offset = pull.group, pull.queue, pull.commit_offset
    stored = broker.disk.store.queue(topic, number)
    return (
        (stored is None or stored.production.per_second <= 0)
        and pulls.refusal(broker, pull) == SUCCESS
        and pull.offset == (0 if stored is None else stored.max_offset(now))
        and (offset is None or broker.offsets.query(group, topic, number) == offset)
    )


def _hold_again(broker: Broker, now: Time, sender: str, about: tuple[str, Queue], out: contract.ReplayOutbox) -> None:
    """The pull was answered with nothing, and has come again, now for the last time. (It keeps its number: which it is
    does not matter.)"""
    group, queue = about
    again = next(each for each in broker.held[queue] if (each.sender, each.message.group) == (sender, group))
    broker.held[queue] = [each for each in broker.held[queue] if each is not again]
    _put(broker, again._replace(until=now + again.message.suspend_ms), out)


def _locks(broker: Broker) -> dict[str, dict[str, tuple[Queue, ...]]]:
    """Client id to group to what it has locked, sorted: its claim when it renews its locks."""
    found: dict[str, dict[str, list[Queue]]] = {}
    for group, table in broker.locks.table.items():
        for queue, lock in table.items():
            found.setdefault(lock.client_id, {}).setdefault(group, []).append(queue)
    return {
        client_id: {group: tuple(sorted(queues)) for group, queues in groups.items()}
        for client_id, groups in found.items()
    }


def _production(broker: Broker, now: Time, pull: PullMessage) -> Production | None:
    """What the queue takes in; None where the client does not read at its end, or would be told anything else."""
    topic, _, number = pull.queue
    queue = broker.disk.store.queue(topic, number)
    if queue is None or queue.records:
        return None
    if pulls.refusal(broker, pull) != SUCCESS or any(broker.offsets.resets.values()):
        return None
    behind = queue.max_offset(now) - pull.offset
    within = queue.min_offset <= pull.offset and 0 <= behind <= pull.max_messages
    return queue.production if within and queue.production.per_second > 0 else None


def _replay_reader(
    broker: Broker,
    known: dict[Key, int],
    now: Time,
    sender: str,
    stretch: contract.Stretch,
    out: contract.ReplayOutbox,
) -> None:
    """The client has read so far until now, and told it by its pulls and commits. ``known``: `BrokerAdapter.told`."""
    pull = stretch.flow.pull
    topic, _, number = pull.queue
    key = pull.group, topic, number
    before = known.setdefault(key, broker.offsets.query(*key))
    told = stretch.told_at(now)
    if told > broker.offsets.query(*key):
        pulls.commit(broker, now, Committed(pull.group, pull.queue, told, sender, None, ""), out)
    if not stretch.last:
        return
    due = out.due(FLUSH)
    if due is not None and due <= now:
        period = broker.settings.flush_consumer_offset_interval_ms
        written = due + (now - due) // period * period
        known[key] = max(before, stretch.told_at(written))
        out.later(partial(_correct_file, broker, key, known[key]))
    broker.offsets.commit_pull(pull.group, topic, number, stretch.position)
    for held in list(broker.held.get(pull.queue, ())):
        if (held.sender, held.message.group) == (sender, pull.group):
            pulls.release(broker, held, out)
    if stretch.held:
        again = pull._replace(offset=stretch.position, commit_offset=None)
        waiting = HeldPull(sender, again, now + again.suspend_ms, pulls.arrival(broker, again))
        _put(broker, waiting, out)
        # The record may have come by now.
        out.set_timer(waiting.timer, max(now, waiting.due))
    broker.busy(now, sender)


def _correct_file(broker: Broker, key: Key, offset: int) -> None:
    """The broker has written its offsets meanwhile, when the group was only so far."""
    if offset >= 0:
        broker.disk.offsets = broker.disk.offsets.with_offset(*key, offset)
        broker.unflushed = True


def _put(broker: Broker, held: HeldPull, out: contract.ReplayOutbox) -> None:
    """The pull is held from a time on that lies ahead: others may still come before it."""
    queue = held.message.queue
    broker.held.setdefault(queue, []).append(held)
    _sort(broker, queue)
    if len(broker.held[queue]) > 1:
        out.later(partial(_sort, broker, queue))


def _sort(broker: Broker, queue: Queue) -> None:
    """Pulls are held in the order in which they came."""
    broker.held.get(queue, []).sort(key=lambda each: each.until - each.message.suspend_ms)
