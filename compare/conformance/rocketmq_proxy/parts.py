"""What a recorded story consists of when it is replayed: deliveries, answers, what calls say, the cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_proxy.reading import RecordedCall, Recording, system_of
from protocols.engine.nodes import Time
from rocketmq_selfbalance.proxy import ProxySettings, renamed
from rocketmq_selfbalance.wire import Rehearsal, subscription_group


class Attempt(NamedTuple):
    """A delivery, by what it is in any run."""

    message_id: str
    attempt: int


class Delivery(NamedTuple):
    """``handle``: the receipt handle's parts."""

    time: Time
    client: str
    attempt: Attempt
    handle: tuple[str, ...]


@dataclass(slots=True)
class Answer:
    """What the proxy answered to one recorded call."""

    time: Time
    responses: tuple[Any, ...]


class Phases(NamedTuple):
    """When periodic tasks begin, later than usual, in milliseconds: chance, too.

    ``revive``: of each of the broker's threads that bring back what nobody has acked; ``scan`` and ``renew``: of the
    proxy's looks for silent clients and for messages that are visible soon.
    """

    revive: Sequence[Time] = (0.0,) * 8
    scan: Time = 0.0
    renew: Time = 0.0


def attempt_of(message: Mapping[str, Any]) -> Attempt:
    """Which delivery of which message a recorded one is."""
    system = system_of(message)
    return Attempt(str(system.get("messageId")), int(system.get("deliveryAttempt", 0)))


def ms_of(told: object) -> float:
    return datetime.fromisoformat(str(told)).timestamp() * 1000


def topic_of(call: RecordedCall) -> str:
    """Of a SendMessage; empty for other calls."""
    messages = (call.request or {}).get("messages") if call.method == "SendMessage" else None
    return name_of(messages[0].get("topic")) if messages else ""


def name_of(told: object) -> str:
    return str(told.get("name", "")) if isinstance(told, dict) else ""


def handles_of(call: RecordedCall) -> list[str]:
    request = call.request or {}
    named: Iterable[Any] = request.get("entries") or [request]
    return [str(each["receiptHandle"]) for each in named if isinstance(each, dict) and "receiptHandle" in each]


def filled(request: dict[str, Any]) -> dict[str, Any]:
    """The request with bodies of the length that they had; recordings keep their beginnings."""
    if "messages" not in request:
        return request
    filled = []
    for message in request["messages"]:
        body = str(message.get("body", ""))
        missing = int(message.get("bodyBytes", len(body))) - len(body.encode())
        filled.append({**message, "body": body + "." * max(0, missing)})
    return {**request, "messages": filled}


def first_counts(recording: Recording, topic: str) -> dict[str, int]:
    """Broker to its number of queues, as the first route told them: the topology may be of a later time."""
    for call in recording.grpc:
        if (
            call.method == "QueryRoute"
            and isinstance(call.response, dict)
            and name_of((call.request or {}).get("topic")) == topic
        ):
            queues = call.response.get("messageQueues", [])
            return dict(Counter(name_of(queue.get("broker")) for queue in queues))
    return {}


def world_of(
    recording: Recording,
    choose: Callable[[int, str, int], int | None],
    said: Callable[[Any], None],
    phases: Phases,
    arrives: Callable[[int], Time],
) -> Rehearsal:
    topology = recording.topology
    try:
        settings = renamed({"useEndpointPortFromRequest": True, **topology.proxySettings})
    except KeyError as error:
        raise MalformedCase("topology.proxySettings", "settings of the proxy that are modelled", str(error)) from None
    assert isinstance(settings, ProxySettings)
    return Rehearsal(
        list(topology.brokers),
        {name: (topic.type, first_counts(recording, name) or topic.queues) for name, topic in topology.topics.items()},
        [
            subscription_group(name, most_retries=group.retryMaxTimes, in_order=group.consumeMessageOrderly)
            for name, group in topology.groups.items()
        ],
        epoch_ms=float(recording.recordedAt_ms),
        settings=settings,
        choose=choose,
        arrives=arrives,
        phases=phases,
        said=said,
    )
