"""A served broker computes queues for members (`rocketmq_selfbalance.broker.allocation`), and keeps the modes that
administrators set (``MessageRequestModeManager``; spec pop 1)."""

from typing import Final

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker.allocation import POLL, POLL_MS, queues_to_ask, take_over
from rocketmq_selfbalance.messages.popping import QueryAssignment, SetRequestMode
from rocketmq_selfbalance.wire.messages import Reply
from rocketmq_selfbalance.wire.served import Served

FIRST_POLL_MS: Final[Time] = 1_000.0
_MOST_MODES = 100_000
"""Topics and groups whose modes a broker keeps."""


def poll(served: Served, now: Time, out: Outbox) -> None:
    """The routes of all topics that anybody has asked about are looked up again."""
    for topic in list(served.broker.routes.queues):
        take_over(served.broker, topic, served.route_of(topic))
    out.set_timer(POLL, now + POLL_MS)


def answer(served: Served, now: Time, sender: str, message: QueryAssignment, out: Outbox) -> None:
    """A member asks."""
    if not served.broker.routes.queues.get(message.topic):
        take_over(served.broker, message.topic, served.route_of(message.topic))
    out.send(sender, queues_to_ask(served.broker, message))


def set_mode(served: Served, now: Time, sender: str, message: SetRequestMode, out: Outbox) -> None:
    """An administrator says how a group asks a topic's queues; the members are not told."""
    disk, modes = served.broker.disk, served.broker.disk.request_modes
    if len(modes.table) >= _MOST_MODES and (message.topic, message.group) not in modes.table:
        remark = f"{_MOST_MODES} modes are set, and another one comes"
        out.send(sender, Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark))
        return
    refusal = modes.set(
        message.topic,
        message.group,
        message.mode,
        message.share,
        topic_known=message.topic in disk.topics.configs,
        group_known=disk.groups.find(message.group) is not None,
    )
    out.send(sender, Reply(message.correlation, refusal.code, remark=refusal.remark))
