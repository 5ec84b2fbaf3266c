"""A broker computes queues for members: it answers QUERY_ASSIGNMENT from its own routes and members
(``QueryAssignmentProcessor``, ``TopicRouteInfoManager``; spec pop 2).

A simulated broker asks the name server for the route of a topic when a member first asks about it, and again every
30 s; a served one has the routes of its name server at hand (`rocketmq_selfbalance.wire.allocation`).
"""

from typing import Final

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker.state import Broker, Lookup
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, Route, RouteInfoAnswer, subscribe_queues
from rocketmq_selfbalance.messages.popping import QueryAssignment, QueuesToAsk
from rocketmq_selfbalance.pop import Question, assigned

POLL: Final = "poll routes"
"""Name of a timer."""
POLL_MS: Final[Time] = 30_000.0
"""``loadBalancePollNameServerInterval``."""
_ANSWERED_MS: Final[Time] = 3_000.0
"""A name server that has not answered for so long is asked again."""


def queues_to_ask(broker: Broker, message: QueryAssignment) -> QueuesToAsk:
    """The answer, by what the broker knows of the topic's route."""
    mode = broker.disk.request_modes.of(message.topic, message.group)
    broadcasting = message.message_model == codes.BROADCASTING
    question = Question(message.topic, message.client_id, message.strategy, broadcasting)
    route, ids = broker.routes.queues.get(message.topic), broker.consumers.client_ids(message.group)
    queues = assigned(question, mode, broker.name, route, ids)
    return QueuesToAsk(message.correlation, None if queues is None else tuple(queues), mode.mode)


def take_over(broker: Broker, topic: str, route: Route | None) -> None:
    """What the name server says of the topic; None where it does not know it."""
    broker.routes.take_over(topic, None if route is None else subscribe_queues(topic, route))


def answer(broker: Broker, now: Time, sender: str, message: QueryAssignment, out: Outbox) -> None:
    """A member asks a simulated broker."""
    if broker.routes.queues.get(message.topic):
        out.send(sender, queues_to_ask(broker, message))
        return
    lookup = broker.lookups.get(message.topic)
    if lookup is None or now - lookup.asked >= _ANSWERED_MS:
        lookup = _look_up(broker, now, message.topic, out)
    lookup.wanting.append((sender, message))


def _look_up(broker: Broker, now: Time, topic: str, out: Outbox) -> Lookup:
    broker.correlation += 1
    lookup = broker.lookups[topic] = Lookup(broker.correlation, now)
    out.send(broker.name_servers[0], GetRouteInfo(broker.correlation, topic))
    return lookup


def route(broker: Broker, now: Time, sender: str, message: RouteInfoAnswer, out: Outbox) -> None:
    """A name server has answered."""
    topic = next((topic for topic, each in broker.lookups.items() if each.number == message.correlation), None)
    if topic is None:
        return
    lookup = broker.lookups.pop(topic)
    if not broker.routes.queues:
        out.set_timer(POLL, now + POLL_MS)
    take_over(broker, topic, message.route if message.code == codes.SUCCESS else None)
    for client, question in lookup.wanting:
        out.send(client, queues_to_ask(broker, question))


def poll(broker: Broker, now: Time, out: Outbox) -> None:
    """The routes of all topics that anybody has asked about are looked up again."""
    for topic in broker.routes.queues:
        _look_up(broker, now, topic, out)
    if broker.routes.queues:
        out.set_timer(POLL, now + POLL_MS)
