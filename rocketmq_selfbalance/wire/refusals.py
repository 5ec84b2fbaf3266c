"""Requests of RocketMQ's clients, as simulation and real connections carry them, and answers that refuse them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from protocols.engine.nodes import Message
from protocols.java import Queue
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages import offsets
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, HeartBeat
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, RouteInfoAnswer
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer
from rocketmq_selfbalance.wire.messages import ClientHeartbeat, Pull, Pulled, Reply, SendBack

REQUESTS: Final[Mapping[str, type[Message]]] = {
    "GET_ROUTEINFO_BY_TOPIC": GetRouteInfo,
    "HEART_BEAT": HeartBeat,
    "GET_CONSUMER_LIST_BY_GROUP": GetConsumerListByGroup,
    "QUERY_CONSUMER_OFFSET": offsets.QueryConsumerOffset,
    "UPDATE_CONSUMER_OFFSET": offsets.UpdateConsumerOffset,
    "GET_MAX_OFFSET": offsets.GetMaxOffset,
    "GET_MIN_OFFSET": offsets.GetMinOffset,
    "LOCK_BATCH_MQ": LockBatchMq,
    "PULL_MESSAGE": offsets.PullMessage,
    "CONSUMER_SEND_MSG_BACK": offsets.ConsumerSendMsgBack,
}
"""RocketMQ's name of a request (``RequestCode``) that can be refused to the simulation's type of it."""

SYSTEM_BUSY: Final = 2
NO_LOCK: Final = "no lock"
"""What a broker answers without an error: another client has the queues."""

ERRORS: Final[Mapping[str, int]] = {
    NO_LOCK: codes.SUCCESS,
    "SYSTEM_BUSY": SYSTEM_BUSY,
    **{
        name: getattr(codes, name)
        for name in (
            "SYSTEM_ERROR",
            "NO_PERMISSION",
            "TOPIC_NOT_EXIST",
            "PULL_OFFSET_MOVED",
            "SUBSCRIPTION_NOT_EXIST",
            "SUBSCRIPTION_NOT_LATEST",
            "SUBSCRIPTION_GROUP_NOT_EXIST",
        )
    },
}
"""Name of an error to its code."""


def plain(message: Message) -> Message:
    """A request as the simulation has it; other messages as they are."""
    if isinstance(message, ClientHeartbeat):
        return message.beat
    return message.pull if isinstance(message, Pull) else message


def kind_of(message: Message) -> type[Message]:
    """The type of the simulation's request that this is."""
    return offsets.ConsumerSendMsgBack if isinstance(message, SendBack) else type(plain(message))


def queue_of(message: Message) -> Queue | None:
    queue = getattr(plain(message), "queue", None)
    return queue if isinstance(queue, Queue) else None


def groups_of(message: Message) -> tuple[str, ...]:
    request = plain(message)
    if isinstance(request, HeartBeat):
        return tuple([consumer.group for consumer in request.consumers])
    group = getattr(request, "group", None)
    return () if group is None else (group,)


def code_of(answer: Message) -> int:
    code: int = answer.answer.code if isinstance(answer, Pulled) else getattr(answer, "code", codes.SUCCESS)
    return code


Refuse: TypeAlias = Callable[[Any, int], Message]


def _pull(message: Message, code: int) -> Message:
    asked = plain(message)
    assert isinstance(asked, offsets.PullMessage)
    answer = offsets.PullAnswer(asked.correlation, code, asked.offset, 0, asked.offset)
    return Pulled(asked.correlation, answer, "refused") if isinstance(message, Pull) else answer


_OFFSET: Final[Refuse] = lambda message, code: offsets.OffsetAnswer(message.correlation, code, 0)  # noqa: E731
_PLAIN: Final[Refuse] = lambda message, code: Answer(message.correlation, code)  # noqa: E731

_REFUSE: Final[Mapping[type[Message], Refuse]] = {
    GetRouteInfo: lambda message, code: RouteInfoAnswer(message.correlation, code, None),
    HeartBeat: _PLAIN,
    GetConsumerListByGroup: lambda message, code: ConsumerList(message.correlation, code, ()),
    offsets.QueryConsumerOffset: _OFFSET,
    offsets.GetMaxOffset: _OFFSET,
    offsets.GetMinOffset: _OFFSET,
    offsets.UpdateConsumerOffset: _PLAIN,
    LockBatchMq: lambda message, code: LockBatchMqAnswer(message.correlation, code, ()),
    offsets.PullMessage: _pull,
    offsets.ConsumerSendMsgBack: _PLAIN,
}
"""Type of the simulation's request to what answers it with a code."""


def refusal(message: Message, code: int, *, real: bool) -> Message:
    """The answer that refuses a request. ``real``: of a real client, which is told a text as well."""
    kind = kind_of(message)
    if real and kind not in (offsets.PullMessage, LockBatchMq):
        return Reply(message[0], code, remark="refused")
    return _REFUSE[kind](message, code)
