"""Broker-side allocation: a broker answers which queues a member may ask, and in which mode (spec pop 1, 2).

With POP a queue has no owner; the answer only says where to ask. One member's question is about one topic, and each
broker answers from its own table of modes, its own routes and its own list of the group's members. In RocketMQ
``QueryAssignmentProcessor`` (400) and ``MessageRequestModeManager`` (401).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from protocols.node_state import NodeState
from rocketmq_selfbalance.codes import ALL_QUEUES, RETRY_PREFIX
from rocketmq_selfbalance.strategies import AllocationError, Averagely, AveragelyByCircle, PositionStrategy

PULL: Final = "PULL"
POP: Final = "POP"
_LIGHT_PREFIX: Final = "%LMQ%"
_STRATEGIES: Final[Mapping[str, PositionStrategy]] = {
    Averagely.name: Averagely(),
    AveragelyByCircle.name: AveragelyByCircle(),
}
"""A broker knows no others: a client with another strategy never gets an answer."""


class Mode(NamedTuple):
    """How a group asks a topic's queues. ``share``: with POP the queues of so many other members are a member's as well
    (``popShareQueueNum``)."""

    mode: str
    share: int


UNSET: Final = Mode(PULL, -1)
"""``defaultMessageRequestMode`` and ``defaultPopShareQueueNum`` as a broker comes."""


class Refusal(NamedTuple):
    """The code and remark of an answer to request 401; code 0 where the mode was set."""

    code: int
    remark: str | None


@dataclass(slots=True)
class RequestModes(NodeState):
    """The table of modes of one broker, which a restart keeps and nobody ever cleans (spec pop 1)."""

    default: Mode = UNSET
    table: dict[tuple[str, str], Mode] = field(default_factory=dict)
    """Topic and group to the mode that somebody has set."""

    def set(
        self, topic: str, group: str, mode: str | None, share: int, topic_known: bool = True, group_known: bool = True
    ) -> Refusal:
        """Request 401. A mode that is left out is PULL; the share is not checked."""
        if topic.startswith(RETRY_PREFIX):
            return Refusal(16, "retry topic is not allowed to set mode")
        if not topic_known:
            return Refusal(17, f"topic[{topic}] not exist")
        if not group_known:
            return Refusal(26, "subscription group does not exist")
        self.table[topic, group] = Mode(mode or PULL, share)
        return Refusal(0, None)

    def of(self, topic: str, group: str) -> Mode:
        """The mode of a question; retry topics are always pulled."""
        if (topic, group) in self.table:
            return self.table[topic, group]
        return Mode(PULL, 0) if topic.startswith(RETRY_PREFIX) else self.default


@dataclass(slots=True)
class TopicRoutes(NodeState):
    """``TopicRouteInfoManager``: a broker's own cache of routes, filled when it is first asked (spec pop 2.3)."""

    queues: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    """Topic to its readable queues."""

    def take_over(self, topic: str, queues: tuple[Queue, ...] | None) -> None:
        """What a name server answered; None where it does not know the topic: retry topics keep what was known."""
        if queues is not None:
            self.queues[topic] = queues
        elif not topic.startswith(RETRY_PREFIX):
            self.queues.pop(topic, None)


def retry_topic_of(group: str, topic: str) -> str:
    """``KeyBuilder.buildPopRetryTopic``: where what the group popped of the topic comes back."""
    return f"{RETRY_PREFIX}{group}_{topic}"


class Question(NamedTuple):
    """Request 400: what a member asks of a topic. Any text may be missing."""

    topic: str
    client_id: str | None
    strategy: str | None
    broadcasting: bool = False


def assigned(
    question: Question,
    mode: Mode,
    broker: str,
    route: Iterable[Queue] | None,
    client_ids: Sequence[str] | None,
    balances: bool = True,
) -> list[Queue] | None:
    """The queues that the member may ask, in order; None is no valid answer, after which a member keeps what it has.

    ``route``: the readable queues that the broker knows of, None where it does not know the topic. ``client_ids`` of
    all the group's channels here, None where the group is not registered. ``balances``: ``serverLoadBalancerEnable``.
    """
    known = None if route is None else list(sort_queues(set(route)))
    if question.broadcasting:
        return known
    if question.topic.startswith(_LIGHT_PREFIX):
        known = [Queue(question.topic, broker, 0)]
    if known is None or not balances:
        return known
    strategy = _STRATEGIES.get(question.strategy or "")
    if client_ids is None or strategy is None:
        return None
    ids = sorted_as_java(client_ids)
    try:
        if mode.mode == POP:
            found = _popped(question, mode.share, strategy, known, ids)
        else:
            found = [known[position] for position in strategy.positions(question.client_id, known, ids)]
    except AllocationError:
        return None
    return None if found is None else list(sort_queues(set(found)))


def _popped(
    question: Question, share: int, strategy: PositionStrategy, queues: Sequence[Queue], ids: Sequence[str]
) -> list[Queue] | None:
    """The queues of a member that pops (spec pop 2.2)."""
    if share <= 0 or share >= len(ids) - 1:
        return [Queue(question.topic, broker, ALL_QUEUES) for broker in dict.fromkeys(queue.broker for queue in queues)]
    id = question.client_id
    if len(ids) > len(queues):
        if not queues or id is None or not id.strip():
            return None
        return [queues[ids.index(id) % len(queues)]] if id in ids else []
    positions = list(strategy.positions(id, queues, ids))
    if id in ids:
        first = ids.index(id)
        for step in range(1, share + 1):
            positions += strategy.positions(ids[(first + step) % len(ids)], queues, ids)
    return [queues[position] for position in positions]
