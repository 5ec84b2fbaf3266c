"""A recorded story once more, in virtual time: what its clients said is said to the proxy of this package.

A client says something because something else has happened: it asks again when its last request has ended, it acks what
it was given. So each recorded call has a cause, after which it comes as late as in the recording, whenever the cause
comes here. What chance decided (which queue a producer's first message went to, where a pop began to look) is taken from
the recording where it tells.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_proxy.reading import RecordedCall, Recording, delivered_in, system_of
from protocols.engine.nodes import Time
from rocketmq_selfbalance.proxy import (
    METHODS,
    Answered,
    Call,
    Cancelled,
    ProxySettings,
    StreamClosed,
    StreamRefused,
    Telemetry,
    TelemetryCommand,
    Told,
    from_json,
    renamed,
)
from rocketmq_selfbalance.wire import Rehearsal, subscription_group

RETRY_FIRST_BELOW = 20
"""``popFromRetryProbability``"""

IN_ORDER = "999"
"""In handles of groups in order, in the place of a revive queue's number."""
_WAKING_MS = 50
"""So long it may take until a request is woken."""

_SOON_MS = 3_000
"""A request that follows the end of another so soon follows because of it."""


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


@dataclass
class Replay:
    """One story; `run` plays it."""

    recording: Recording
    phase: Time = 0.0
    """Of the threads that bring back what nobody has acked: chance, too."""
    answers: dict[int, Answer] = field(default_factory=dict)
    """Number of a call to its answer."""
    settings: dict[tuple[int, int], Told | StreamRefused] = field(default_factory=dict)
    """Number of a stream, and of what was said on it, to the answer."""
    deliveries: list[Delivery] = field(default_factory=list)
    _handles: dict[Attempt, str] = field(default_factory=dict)
    _changed: dict[str, str] = field(default_factory=dict)
    """A recorded handle that a change has given to the one of this run."""
    _after_call: dict[int, list[tuple[Time, RecordedCall]]] = field(default_factory=dict)
    _after_attempt: dict[Attempt, list[tuple[Time, RecordedCall]]] = field(default_factory=dict)
    _heard: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Let the story happen."""
        self._given = {
            str(system_of(message).get("receiptHandle")): (call, attempt_of(message))
            for call in self.recording.grpc
            for message in delivered_in(call)
        }
        self._landed = {
            attempt.message_id: handle.split(" ")
            for handle, (_, attempt) in self._given.items()
            if attempt.attempt == 1 or handle.split(" ")[4] == "0"
        }
        self._stored = {
            attempt_of(message).message_id: _ms(system_of(message).get("storeTimestamp")) - self.recording.recordedAt_ms
            for call in self.recording.grpc
            for message in delivered_in(call)
            if attempt_of(message).attempt == 1 and "deliveryTimestamp" not in system_of(message)
        }
        self._popped: dict[tuple[str, str], list[float]] = {}
        for handle in sorted(map(str.split, self._given), key=lambda handle: int(handle[1])):
            popped = int(handle[1]) - self.recording.recordedAt_ms
            self._popped.setdefault((handle[5], handle[6]), []).append(popped)
        self._calls = {call.call: call for call in self.recording.grpc if call.method != "Telemetry"}
        self.world = _world(self.recording, self._choose, self._said, self.phase, self._arrives)
        self._schedule()
        for action in self.recording.script:
            self._act(action.action, action.t_ms, action)
        self.world.run(self.recording.lengthMs + 1_000.0)

    # What is done when.

    def _schedule(self) -> None:
        last: dict[tuple[str | None, str, str], list[RecordedCall]] = {}
        for call in sorted(self.recording.grpc, key=lambda call: call.t_ms):
            if call.method == "Telemetry":
                self.world.at(call.t_ms, partial(self._speak, call))
                continue
            if call.method not in METHODS:
                continue
            cause = self._cause(call, last)
            if cause is None:
                self.world.at(call.t_ms, partial(self._begin, call))

    def _cause(self, call: RecordedCall, last: dict[tuple[str | None, str, str], list[RecordedCall]]) -> object:
        """Enter a call behind its cause; None where it has none."""
        if call.method == "ReceiveMessage":
            queue = (call.request or {}).get("messageQueue", {})
            place = call.client, _name(queue.get("topic")), _name(queue.get("broker"))
            before = last.setdefault(place, [])
            ended = [each for each in before if each.end_ms is not None and 0 <= call.t_ms - each.end_ms <= _SOON_MS]
            cause = max(ended, key=lambda each: each.end_ms or 0, default=None)
            if cause is not None:
                before.remove(cause)
                self._after_call.setdefault(cause.call, []).append((call.t_ms - (cause.end_ms or 0), call))
            before.append(call)
            return cause
        handles = _handles_of(call)
        given = self._given.get(handles[0]) if handles else None
        if given is None:
            return None
        delivered, attempt = given
        gap = max(0, call.t_ms - (delivered.end_ms or delivered.t_ms))
        self._after_attempt.setdefault(attempt, []).append((gap, call))
        return attempt

    def _arrives(self, number: int) -> Time:
        """When a broker has what the call asks, no later than in the recording after its beginning: a message has its
        time of storing; an ack is answered at once, and what waits for it is woken by its time of popping."""
        call = self._calls.get(number)
        if call is None or call.end_ms is None:
            return self.world.now
        took = call.end_ms - call.t_ms
        if call.method == "SendMessage":
            messages = (call.request or {}).get("messages") or [{}]
            stored = self._stored.get(str(system_of(messages[0]).get("messageId")), call.t_ms)
            return self.world.now + min(max(stored - call.t_ms, 0), took)
        handles = [handle.split(" ") for handle in _handles_of(call)]
        if handles and len(handles[0]) > 6 and handles[0][3] == IN_ORDER:
            later = [
                each - call.t_ms for each in self._popped.get((handles[0][5], handles[0][6]), ()) if each >= call.t_ms
            ]
            took = min([each for each in later if each <= took + _WAKING_MS], default=took)
        return self.world.now + took

    def _act(self, what: str, time: Time, action: Any) -> None:
        if what.startswith("stop "):
            self.world.at(time, partial(self.world.stop_broker, what.removeprefix("stop ")))
        elif what.endswith(" up"):
            self.world.at(time, partial(self.world.start_broker, what.removesuffix(" up")))
        elif what == "updateTopic" and action.queues:
            for topic in [action.topic] if action.topic else list(self.recording.topology.topics):
                for broker, number in action.queues.items():
                    self.world.at(time, partial(self.world.set_queues, topic, broker, number))

    # What clients say.

    def _begin(self, call: RecordedCall) -> None:
        method = METHODS[call.method]
        request = from_json(method.request, _filled(self._with_our_handles(call)))
        if call.grpcStatus == "CANCELLED" and call.end_ms is not None:
            self.world.at(self.world.now + max(0, call.end_ms - call.t_ms), partial(self._cancel, call.call))
        deadline = call.deadline_ms if call.deadline_ms is not None else 3_000
        self.world.give(Call(call.call, call.client or "", call.method, request, deadline))

    def _cancel(self, number: int) -> None:
        if number not in self.answers:
            self.world.give(Cancelled(number))

    def _speak(self, call: RecordedCall) -> None:
        if call.what == "closed":
            self.world.give(StreamClosed(call.call))
        elif call.dir == "c>s":
            command = from_json(TelemetryCommand, call.message)
            self.world.give(Telemetry(call.call, call.client or "", command))

    def _with_our_handles(self, call: RecordedCall) -> dict[str, Any]:
        request = dict(call.request or {})
        if "receiptHandle" in request:
            request["receiptHandle"] = self._ours(str(request["receiptHandle"]))
        if "entries" in request:
            request["entries"] = [
                {**entry, "receiptHandle": self._ours(str(entry.get("receiptHandle", "")))}
                for entry in request["entries"]
            ]
        return request

    def _ours(self, handle: str) -> str:
        if handle in self._changed:
            return self._changed[handle]
        given = self._given.get(handle)
        return handle if given is None else self._handles.get(given[1], handle)

    # What the proxy says.

    def _said(self, said: Answered | Told | StreamRefused) -> None:
        if not isinstance(said, Answered):
            place = said.correlation, self._heard.get(said.correlation, 0)
            self._heard[said.correlation] = place[1] + 1
            self.settings[place] = said
            return
        now, call = self.world.now, self._calls[said.correlation]
        self.answers[said.correlation] = Answer(now, said.responses)
        for response in said.responses:
            message = getattr(response, "message", None)
            if message is not None:
                self._delivered(now, call, message)
        new, recorded = (
            getattr(said.responses[0], "receipt_handle", ""),
            (call.response or {}) if isinstance(call.response, dict) else {},
        )
        if new and recorded.get("receiptHandle"):
            self._changed[recorded["receiptHandle"]] = new
        for gap, following in self._after_call.pop(call.call, ()):
            self.world.at(max(following.t_ms, now + gap), partial(self._begin, following))

    def _delivered(self, now: Time, call: RecordedCall, message: Any) -> None:
        system = message.system_properties
        attempt = Attempt(system.message_id, system.delivery_attempt)
        self._handles[attempt] = system.receipt_handle
        self.deliveries.append(Delivery(now, call.client or "", attempt, tuple(system.receipt_handle.split(" "))))
        for gap, following in self._after_attempt.pop(attempt, ()):
            self.world.at(max(following.t_ms, now + gap), partial(self._begin, following))

    # What chance decided.

    def _choose(self, number: int, label: str, count: int) -> int | None:
        call = self._calls.get(number)
        if call is None:
            return None
        return self._first_queue(call) if label == "first" else self._where_to_look(call) if label == "pop" else None

    def _where_to_look(self, call: RecordedCall) -> int | None:
        """The throw of 0 to 99 with which a pop finds first what it found first (spec pop 5.2)."""
        found = [str(system_of(message).get("receiptHandle")).split(" ") for message in delivered_in(call)]
        queue = (call.request or {}).get("messageQueue", {})
        count = self.world.readable(_name(queue.get("topic")), _name(queue.get("broker")))
        normal = next((int(handle[6]) for handle in found if handle[4] == "0"), None)
        retried_first = bool(found) and found[0][4] != "0"
        for thrown in range(RETRY_FIRST_BELOW) if retried_first else range(RETRY_FIRST_BELOW, 100):
            if normal is None or count == 0 or thrown % count == (normal + 1) % count:
                return thrown
        return None

    def _first_queue(self, call: RecordedCall) -> int | None:
        """Where the round begins in which this message is the first: as the next one that was ever seen tells."""
        topic = _topic_of(call)
        view = [(queue.broker, str(queue.number)) for queue in self.world.write_queues(topic)]
        following = [each for each in self._calls.values() if _topic_of(each) == topic and each.t_ms >= call.t_ms]
        for place, each in enumerate(sorted(following, key=lambda each: (each.t_ms, each.call))):
            landed = (
                self._landed.get(str(system_of(each.request["messages"][0]).get("messageId"))) if each.request else None
            )
            if landed is not None:
                where = landed[5], landed[6]
                return (view.index(where) - place) % len(view) if where in view else None
        return None


def attempt_of(message: Mapping[str, Any]) -> Attempt:
    """Which delivery of which message a recorded one is."""
    system = system_of(message)
    return Attempt(str(system.get("messageId")), int(system.get("deliveryAttempt", 0)))


def _ms(told: object) -> float:
    return datetime.fromisoformat(str(told)).timestamp() * 1000


def _topic_of(call: RecordedCall) -> str:
    """Of a SendMessage; empty for other calls."""
    messages = (call.request or {}).get("messages") if call.method == "SendMessage" else None
    return _name(messages[0].get("topic")) if messages else ""


def _name(told: object) -> str:
    return str(told.get("name", "")) if isinstance(told, dict) else ""


def _handles_of(call: RecordedCall) -> list[str]:
    request = call.request or {}
    named: Iterable[Any] = request.get("entries") or [request]
    return [str(each["receiptHandle"]) for each in named if isinstance(each, dict) and "receiptHandle" in each]


def _filled(request: dict[str, Any]) -> dict[str, Any]:
    """The request with bodies of the length that they had; recordings keep their beginnings."""
    if "messages" not in request:
        return request
    filled = []
    for message in request["messages"]:
        body = str(message.get("body", ""))
        missing = int(message.get("bodyBytes", len(body))) - len(body.encode())
        filled.append({**message, "body": body + "." * max(0, missing)})
    return {**request, "messages": filled}


def _first_counts(recording: Recording, topic: str) -> dict[str, int]:
    """Broker to its number of queues, as the first route told them: the topology may be of a later time."""
    for call in recording.grpc:
        if (
            call.method == "QueryRoute"
            and isinstance(call.response, dict)
            and _name((call.request or {}).get("topic")) == topic
        ):
            queues = call.response.get("messageQueues", [])
            return dict(Counter(_name(queue.get("broker")) for queue in queues))
    return {}


def _world(
    recording: Recording,
    choose: Callable[[int, str, int], int | None],
    said: Callable[[Any], None],
    phase: Time,
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
        {name: (topic.type, _first_counts(recording, name) or topic.queues) for name, topic in topology.topics.items()},
        [
            subscription_group(name, most_retries=group.retryMaxTimes, in_order=group.consumeMessageOrderly)
            for name, group in topology.groups.items()
        ],
        epoch_ms=float(recording.recordedAt_ms),
        settings=settings,
        choose=choose,
        arrives=arrives,
        revive_phase=phase,
        said=said,
    )
