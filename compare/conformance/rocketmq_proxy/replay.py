"""A recorded story once more, in virtual time: what its clients said is said to the proxy of this package.

A client says something because something else has happened: it asks again when its last request has ended, it acks what
it was given. So each recorded call has a cause, after which it comes as late as in the recording, whenever the cause
comes here. What chance decided (which queue a producer's first message went to, where a pop began to look) is taken
from the recording where it tells.
"""

from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

from compare.conformance.rocketmq_proxy.parts import (
    Answer,
    Attempt,
    Delivery,
    Phases,
    attempt_of,
    filled,
    handles_of,
    ms_of,
    name_of,
    topic_of,
    world_of,
)
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
)

RETRY_FIRST_BELOW = 20
"""``popFromRetryProbability``"""

IN_ORDER = "999"
"""In handles of groups in order, in the place of a revive queue's number."""
REVIVE_QUEUES = 8
_WAKING_MS = 50
"""So long it may take until a request is woken."""

ROUTE_REFRESH_MS = ProxySettings().route_refresh_ms
_REFRESH_NOISE_MS = 1_500

_SOON_MS = 3_000
"""A request that follows the end of another so soon follows because of it."""


@dataclass
class Replay:
    """One story; `run` plays it."""

    recording: Recording
    phases: Phases
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
    _begun: set[int] = field(default_factory=set)
    _round: dict[str, Time] = field(default_factory=dict)
    """Topic to when its round of queues began anew last."""
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
            attempt_of(message).message_id: ms_of(system_of(message).get("storeTimestamp"))
            - self.recording.recordedAt_ms
            for call in self.recording.grpc
            for message in delivered_in(call)
            if attempt_of(message).attempt == 1 and "deliveryTimestamp" not in system_of(message)
        }
        self._popped: dict[tuple[str, str], list[float]] = {}
        for handle in sorted(map(str.split, self._given), key=lambda handle: int(handle[1])):
            popped = int(handle[1]) - self.recording.recordedAt_ms
            self._popped.setdefault((handle[5], handle[6]), []).append(popped)
        self._bodies = {
            str(system_of(message).get("messageId")): (name_of(message.get("topic")), str(message.get("body", "")))
            for call in self.recording.grpc
            if call.method == "SendMessage"
            for message in (call.request or {}).get("messages", ())
        }
        self._calls = {call.call: call for call in self.recording.grpc if call.method != "Telemetry"}
        self.world = world_of(self.recording, self._choose, self._said, self.phases, self._arrives)
        self._schedule()
        for action in self.recording.script:
            self._act(action.action, action.t_ms, action)
        self.world.run(self.recording.lengthMs + 1_000.0)

    def body_of(self, message_id: str) -> str:
        """The beginning of a message's body."""
        return self._bodies.get(message_id, ("", ""))[1]

    def topic_of(self, message_id: str) -> str:
        """The topic that a message was sent to."""
        return self._bodies.get(message_id, ("", ""))[0]

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
                self.world.at(self._begins(call), partial(self._begin, call))

    def _cause(self, call: RecordedCall, last: dict[tuple[str | None, str, str], list[RecordedCall]]) -> object:
        """Enter a call behind its cause; None where it has none."""
        if call.method == "ReceiveMessage":
            queue = (call.request or {}).get("messageQueue", {})
            place = call.client, name_of(queue.get("topic")), name_of(queue.get("broker"))
            before = last.setdefault(place, [])
            ended = [each for each in before if each.end_ms is not None and 0 <= call.t_ms - each.end_ms <= _SOON_MS]
            cause = max(ended, key=lambda each: each.end_ms or 0, default=None)
            if cause is not None:
                before.remove(cause)
                self._after_call.setdefault(cause.call, []).append((call.t_ms - (cause.end_ms or 0), call))
            before.append(call)
            return cause
        handles = handles_of(call)
        given = self._given.get(handles[0]) if handles else None
        if given is None:
            return None
        delivered, attempt = given
        gap = max(0, call.t_ms - (delivered.end_ms or delivered.t_ms))
        self._after_attempt.setdefault(attempt, []).append((gap, call))
        return attempt

    def _begins(self, call: RecordedCall) -> Time:
        """When the proxy handles a call that nothing has caused: two messages that are sent side by side come in the
        order of their storing."""
        if call.method != "SendMessage" or call.end_ms is None:
            return call.t_ms
        messages = (call.request or {}).get("messages") or [{}]
        stored = self._stored.get(str(system_of(messages[0]).get("messageId")), call.t_ms)
        return min(max(stored, call.t_ms), call.end_ms)

    def _arrives(self, number: int) -> Time:
        """When a broker has what the call asks, no later than in the recording after its beginning: an ack is answered
        at once, and what waits for it is woken by its time of popping."""
        call = self._calls.get(number)
        if call is None or call.end_ms is None or call.method == "SendMessage":
            return self.world.now
        took: float = call.end_ms - call.t_ms
        handles = [handle.split(" ") for handle in handles_of(call)]
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
        if call.call in self._begun:
            return
        self._begun.add(call.call)
        method = METHODS[call.method]
        request = from_json(method.request, filled(self._with_our_handles(call)))
        if call.grpcStatus == "CANCELLED" and call.end_ms is not None:
            self.world.at(self.world.now + max(0, call.end_ms - call.t_ms), partial(self._cancel, call.call))
        if call.method == "SendMessage":
            self._follow_round(call)
        deadline = call.deadline_ms if call.deadline_ms is not None else 3_000
        self.world.give(Call(call.call, call.client or "", call.method, request, deadline))

    def _follow_round(self, call: RecordedCall) -> None:
        """Let this message go where it went. A round of queues begins anew whenever the proxy has renewed its routes,
        20 s after the last time at the earliest, at a moment that nobody has written down; and of two messages that are
        sent side by side either may be the first."""
        landed = self._landing(call)
        if landed is None or "messageGroup" in system_of((call.request or {})["messages"][0]):
            return
        topic = topic_of(call)
        view = [(queue.broker, str(queue.number)) for queue in self.world.write_queues(topic)]
        where = self.world.next_write(topic)
        expected = None if where is None else (where.broker, str(where.number))
        if landed == expected or landed not in view:
            return
        for other in self._side_by_side(call):
            first = self._landing(other)
            if first in view and (
                first == expected or (expected is None and (view.index(first) + 1) % len(view) == view.index(landed))
            ):
                self._begin(other)
                return
        if (
            expected is not None
            and self.world.now - self._round.get(topic, -inf) >= ROUTE_REFRESH_MS - _REFRESH_NOISE_MS
        ):
            self._round[topic] = self.world.now
            self.world.load_again(topic)

    def _landing(self, call: RecordedCall) -> tuple[str, str] | None:
        """Broker and queue that the call's message went to, if anybody has ever seen it."""
        messages = (call.request or {}).get("messages") or [{}]
        landed = self._landed.get(str(system_of(messages[0]).get("messageId")))
        failed = isinstance(call.response, dict) and call.response.get("status", {}).get("code") != "OK"
        return None if landed is None or failed else (landed[5], landed[6])

    def _side_by_side(self, call: RecordedCall) -> list[RecordedCall]:
        """Other messages of the topic on their way at the same time that have not begun here."""
        return [
            other
            for other in self._calls.values()
            if other.call not in self._begun
            and topic_of(other) == topic_of(call)
            and other.t_ms <= (call.end_ms or call.t_ms)
            and call.t_ms <= (other.end_ms or other.t_ms)
        ]

    def _cancel(self, number: int) -> None:
        if number not in self.answers:
            self.world.give(Cancelled(number))

    def _speak(self, call: RecordedCall) -> None:
        if call.what == "closed":
            self.world.give(StreamClosed(call.call))
        elif call.dir == "c>s":
            command = from_json(TelemetryCommand, call.message)
            self.world.give(Telemetry(call.call, call.client or "", command))

    def _with_our_handles(self, call: RecordedCall) -> dict[str, object]:
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
        if label == "first":
            return self._first_queue(call)
        return self._revive_queue(call) if label == "revive" else self._where_to_look(call)

    def _revive_queue(self, call: RecordedCall) -> int | None:
        """The revive queue that brings back what this pop found: those of all pops of a broker go round."""
        found = [str(system_of(message).get("receiptHandle")).split(" ") for message in delivered_in(call)]
        return int(found[0][3]) if found and found[0][3] != IN_ORDER else None

    def _where_to_look(self, call: RecordedCall) -> int | None:
        """The throw of 0 to 99 with which a pop finds first what it found first (spec pop 5.2)."""
        found = [str(system_of(message).get("receiptHandle")).split(" ") for message in delivered_in(call)]
        queue = (call.request or {}).get("messageQueue", {})
        count = self.world.readable(name_of(queue.get("topic")), name_of(queue.get("broker")))
        normal = next((int(handle[6]) for handle in found if handle[4] == "0"), None)
        retried_first = bool(found) and found[0][4] != "0"
        for thrown in range(RETRY_FIRST_BELOW) if retried_first else range(RETRY_FIRST_BELOW, 100):
            if normal is None or count == 0 or thrown % count == (normal + 1) % count:
                return thrown
        return None

    def _first_queue(self, call: RecordedCall) -> int | None:
        """Where the round begins in which this message is the first: as the next one that was ever seen tells."""
        topic = topic_of(call)
        view = [(queue.broker, str(queue.number)) for queue in self.world.write_queues(topic)]
        following = [each for each in self._calls.values() if topic_of(each) == topic and each.t_ms >= call.t_ms]
        for place, each in enumerate(sorted(following, key=lambda each: (each.t_ms, each.call))):
            landed = self._landing(each)
            if landed is not None:
                return (view.index(landed) - place) % len(view) if landed in view else None
        return None
