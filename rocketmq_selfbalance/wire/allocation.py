"""A served broker computes queues for members: it answers QUERY_ASSIGNMENT from its own routes and members, and keeps
the modes that administrators set (``QueryAssignmentProcessor``, ``MessageRequestModeManager``; spec pop 1, 2)."""

from typing import Final

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages.nameserver import subscribe_queues
from rocketmq_selfbalance.messages.popping import QueryAssignment, SetRequestMode
from rocketmq_selfbalance.pop import Question, assigned
from rocketmq_selfbalance.wire.answers import queue_json, to_json
from rocketmq_selfbalance.wire.messages import Reply
from rocketmq_selfbalance.wire.served import Served

POLL: Final = "poll routes"
"""Name of a timer."""
FIRST_POLL_MS: Final[Time] = 1_000.0
POLL_MS: Final[Time] = 30_000.0
"""``loadBalancePollNameServerInterval``."""
_MOST_MODES = 100_000
"""Topics and groups whose modes a broker keeps."""


def poll(served: Served, now: Time, out: Outbox) -> None:
    """The routes of all topics that anybody has asked for are looked up again."""
    for topic in list(served.routes.queues):
        _look_up(served, topic)
    out.set_timer(POLL, now + POLL_MS)


def _look_up(served: Served, topic: str) -> None:
    route = served.route_of(topic)
    served.routes.take_over(topic, None if route is None else subscribe_queues(topic, route))


def answer(served: Served, now: Time, sender: str, message: QueryAssignment, out: Outbox) -> None:
    """The queues that the member may ask, in the order of no meaning that a set has; nothing is no valid answer."""
    broker = served.broker
    if not served.routes.queues.get(message.topic):
        _look_up(served, message.topic)
    mode = broker.disk.request_modes.of(message.topic, message.group)
    broadcasting = message.message_model == codes.BROADCASTING
    question = Question(message.topic, message.client_id, message.strategy, broadcasting)
    route, ids = served.routes.queues.get(message.topic), broker.consumers.client_ids(message.group)
    queues = assigned(question, mode, broker.name, route, ids)
    told = (
        {}
        if queues is None
        else {"messageQueueAssignments": [{"messageQueue": queue_json(queue), "mode": mode.mode} for queue in queues]}
    )
    out.send(sender, Reply(message.correlation, codes.SUCCESS, body=to_json(told)))


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
