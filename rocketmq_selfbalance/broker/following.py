"""Clients that read what a queue takes in as it comes, at a broker (flows of `protocols.engine.quiet`)."""

from typing import Any

from protocols.engine.nodes import Outbox, Time
from protocols.engine.quiet import Stretch
from protocols.facts import Committed
from protocols.load import Production
from rocketmq_selfbalance.broker import pulls, resting
from rocketmq_selfbalance.broker.followed import Followed
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.codes import SUCCESS


def leads(broker: Broker, now: Time, sender: str, pull: Any) -> Production | None:
    """What the queue takes in; None where the client does not read at its end, or would be told anything else."""
    topic, _, number = pull.queue
    queue = broker.disk.store.queue(topic, number)
    heartbeat = broker.heartbeats.get(sender)
    if queue is None or queue.records or heartbeat is None or not resting.is_repeated(broker, sender, heartbeat):
        return None
    if pulls.refusal(broker, pull) != SUCCESS or any(broker.offsets.resets.values()):
        return None
    behind = queue.max_offset(now) - pull.offset
    within = queue.min_offset <= pull.offset and 0 <= behind <= pull.max_messages
    return queue.production if within and queue.production.per_second > 0 else None


def led(broker: Broker, now: Time, sender: str, stretch: Stretch, out: Outbox) -> None:
    """The client has read so far until now, and told it by its pulls and commits."""
    pull: Any = stretch.flow.request
    topic, _, number = pull.queue
    key = pull.group, topic, number
    earlier = broker.followed.get(key)
    if earlier is not None and earlier.last.flow is stretch.flow:
        broker.followed[key] = earlier._replace(last=stretch)
    else:
        broker.followed[key] = Followed(broker.offsets.query(*key), stretch.since, stretch)
    told = stretch.told_at(now)
    if told > broker.offsets.query(*key):
        pulls.commit(broker, now, sender, Committed(pull.group, pull.queue, told, sender, None, ""), out)
    if not stretch.last:
        return
    broker.offsets.commit_pull(pull.group, topic, number, stretch.position)
    pulls.let_go(broker, sender, pull.queue, pull.group, out)
    if stretch.held:
        pulls.hold(broker, now, sender, pull._replace(offset=stretch.position, commit_offset=None), out)
    broker.busy(now, sender)


def offsets_at(broker: Broker, now: Time) -> dict[tuple[str, str, int], int]:
    """(Group, topic, number) to the offset that is committed now, where the broker has one that is yet to come."""
    told = {key: followed.told_at(now) for key, followed in broker.followed.items()}
    return {key: offset for key, offset in told.items() if offset is not None}


def is_ahead(broker: Broker, now: Time, group: str, topic: str, number: int) -> bool:
    """Whether it is known already what will be committed for a while: a commit of now says nothing new."""
    followed = broker.followed.get((group, topic, number))
    return followed is not None and followed.told_at(now) is not None
