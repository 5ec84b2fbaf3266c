"""Clients that read what a queue takes in as it comes, at a broker (flows of `protocols.quiet`)."""

from typing import TYPE_CHECKING, Any, NamedTuple

from protocols.facts import Committed
from protocols.load import Production
from protocols.nodes import Outbox, Time
from protocols.quiet import Stretch
from rocketmq_selfbalance.broker import pulls, resting
from rocketmq_selfbalance.codes import SUCCESS

if TYPE_CHECKING:
    from rocketmq_selfbalance.broker.node import Broker


class Followed(NamedTuple):
    """Reading that was passed over. ``before``: the committed offset when it began."""

    group: str
    topic: str
    number: int
    before: int
    stretch: Stretch


def leads(broker: "Broker", now: Time, sender: str, pull: Any) -> Production | None:
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


def led(broker: "Broker", now: Time, sender: str, stretch: Stretch, out: Outbox) -> None:
    """The client has read so far until now, and told it by its pulls and commits."""
    pull: Any = stretch.flow.request
    topic, _, number = pull.queue
    before, told = broker.offsets.query(pull.group, topic, number), stretch.told_at(now)
    if told > before:
        broker.followed.append(Followed(pull.group, topic, number, before, stretch))
        pulls.commit(broker, now, sender, Committed(pull.group, pull.queue, told, pull.member, None, ""), out)
    broker.offsets.commit_pull(pull.group, topic, number, stretch.position)
    pulls.let_go(broker, sender, pull.queue, pull.group, out)
    if stretch.held:
        pulls.hold(broker, now, sender, pull._replace(offset=stretch.position, commit_offset=None), out)
    broker.busy(now, sender)


def offsets_at(broker: "Broker", now: Time) -> dict[tuple[str, str, int], int]:
    """(Group, topic, number) to the offset that was committed by then, of reading that lies ahead."""
    return {
        (each.group, each.topic, each.number): max(each.before, each.stretch.told_at(now))
        for each in broker.followed
        if each.stretch.until > now >= each.stretch.since
    }
