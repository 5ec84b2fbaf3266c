"""When a broker is at rest (`protocols.engine.quiet`), and what it does about messages that were passed over.

Harmless are heartbeats that repeat what is known, questions for a member list that is known, commits and locks that
repeat themselves, pulls that will be held until their time is over as the one before was. What else a broker does by
the clock (records that arrive for held pulls, deliveries) is simulated.
"""

from typing import Any

from protocols.engine.nodes import Message, Outbox, Time
from protocols.engine.quiet import ANY, Exchange, Guard, Held, Renewal, Rest
from protocols.queues import Queue
from rocketmq_selfbalance.broker import connections, pulls
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.member_lists import in_order
from rocketmq_selfbalance.messages.locks import LockBatchMq
from rocketmq_selfbalance.messages.membership import GetConsumerListByGroup, HeartBeat
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage


def rest(broker: Broker, now: Time, exchanges: tuple[Exchange, ...], idle: str) -> Rest:
    """How the broker is at rest. ``idle``: first part of the names of the timers of idle connections.

    Claims of a client: of heartbeats (client id, consumers); of member lists, locks and commits see `member_lists`,
    `locks` (about a group), `commits`.
    """
    harmless: dict[tuple[str, type[Message]], Any] = {}
    missed: dict[tuple[str, type[Message]], Time] = {}
    patience = min(broker.settings.channel_expired_timeout_ms, broker.settings.server_channel_max_idle_ms)
    lists = {name: in_order(broker.consumers.client_ids(name) or ()) for name in broker.consumers.groups}
    committed = _committed(broker)
    resets = any(broker.offsets.resets.values())
    for group in broker.consumers.groups.values():
        for channel, known in group.channels.items():
            noticed = known.last_update + patience
            missed[channel, HeartBeat] = min(noticed, missed.get((channel, HeartBeat), noticed))
    for channel, heartbeat in broker.heartbeats.items():
        if not is_repeated(broker, channel, heartbeat):
            continue
        harmless[channel, HeartBeat] = (heartbeat.client_id, heartbeat.consumers)
        harmless[channel, GetConsumerListByGroup] = member_lists(heartbeat, lists)
        harmless[channel, LockBatchMq] = locks(broker, heartbeat)
        harmless[channel, PullMessage] = None
        if not resets:
            harmless[channel, UpdateConsumerOffset] = committed.get(channel, {})
    guarded = {(idle, peer): Guard(peer, HeartBeat) for peer in broker.active}
    held = [
        Held(
            each.timer,
            each.sender,
            each.message,
            PullAnswer,
            each.message.suspend_ms,
            (each.message.group, queue),
            each.arrival is None and not resets and is_repeated_pull(broker, now, each.sender, each.message),
        )
        for queue, waiting in broker.held.items()
        for each in waiting
    ]
    return Rest(exchanges, harmless, guarded, missed, held=held)


def is_repeated_pull(broker: Broker, now: Time, sender: str, pull: PullMessage) -> bool:
    """Whether an equal pull finds nothing, now and later, and commits nothing new. (A record that is sent back is
    delivered by a timer.)"""
    group, (topic, _, number), offset = pull.group, pull.queue, pull.commit_offset
    stored = broker.disk.store.queue(topic, number)
    return (
        (stored is None or stored.production.per_second <= 0)
        and pulls.refusal(broker, pull) == SUCCESS
        and pull.offset == (0 if stored is None else stored.max_offset(now))
        and (
            offset is None
            or (
                broker.committers.get((group, pull.queue)) == sender
                and broker.offsets.query(group, topic, number) == offset
            )
        )
    )


def judge(broker: Broker, now: Time, sender: str, pull: PullMessage) -> Renewal | None:
    """What follows of a pull that is under way, if it will be held until its time is over, and changes nothing."""
    if pull.suspend_ms <= 0 or any(broker.offsets.resets.values()):
        return None
    if not is_repeated_pull(broker, now, sender, pull):
        return None
    return Renewal(PullAnswer, pull.suspend_ms, pull.suspend_ms)


def member_lists(heartbeat: HeartBeat, lists: dict[str, tuple[str, ...]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The claim of a client that asks who is in its groups: group and sorted ids, sorted."""
    return tuple(sorted((data.group, lists[data.group]) for data in heartbeat.consumers))


def locks(broker: Broker, heartbeat: HeartBeat) -> dict[str, tuple[Queue, ...]]:
    """Group to the claim of a client that renews its locks: those that it holds at this broker, sorted."""
    return {data.group: _locked(broker, data.group, heartbeat.client_id) for data in heartbeat.consumers}


def _locked(broker: Broker, group: str, client_id: str) -> tuple[Queue, ...]:
    held = broker.locks.table.get(group, {})
    return tuple(sorted([queue for queue, lock in held.items() if lock.client_id == client_id]))


def _committed(broker: Broker) -> dict[str, dict[tuple[str, Queue], int]]:
    """Client to what it committed last, where nobody has committed since: its claim when it commits again, group and
    queue to offset. Of a queue that takes in records evenly the offset does not matter."""
    found: dict[str, dict[tuple[str, Queue], int]] = {}
    for (group, queue), channel in broker.committers.items():
        stored = broker.disk.store.queue(queue.topic, queue.number)
        moves = stored is not None and not stored.records and stored.production.per_second > 0
        offset = ANY if moves else broker.offsets.query(group, queue.topic, queue.number)
        found.setdefault(channel, {})[group, queue] = offset
    return found


def is_repeated(broker: Broker, channel: str, heartbeat: HeartBeat) -> bool:
    """Whether an equal one would change nothing."""
    for data in heartbeat.consumers:
        group = broker.consumers.groups.get(data.group)
        known = None if group is None else group.channels.get(channel)
        if (
            group is None
            or known is None
            or known.subscriptions is not data.subscriptions
            or known.revision != group.revision
        ):
            return False
        mode = group.consume_type, group.message_model, group.consume_from_where
        if mode != (data.consume_type, data.message_model, data.consume_from_where):
            return False
    return True


def passed(broker: Broker, now: Time, sender: str, kind: type[Message], out: Outbox) -> None:
    """Messages of this kind were passed over, the last one came now."""
    if kind is HeartBeat:
        connections.put_off_idle_check(broker, now, sender, out)
        for data in broker.heartbeats[sender].consumers:
            group = broker.consumers.groups[data.group]
            group.channels[sender].last_update = now
            group.last_update = max(group.last_update, now)


def passed_about(broker: Broker, now: Time, sender: str, kind: type[Message], about: Any) -> None:
    """As `passed`: pulls of a queue, or locks of a group."""
    if kind is PullMessage:
        group, queue = about
        pulls.hold_again(broker, now, sender, group, queue)
    elif kind is LockBatchMq:
        client_id = broker.heartbeats[sender].client_id
        for queue in _locked(broker, about, client_id):
            broker.locks.try_lock(now, about, queue, client_id)
