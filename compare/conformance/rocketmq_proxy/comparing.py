"""A replayed story beside its recording: who got which message, of which queue, in which attempt, and when; and what
each call was answered, code and text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compare.conformance.cases import Difference, Measure
from compare.conformance.recordings import NOISE_SHARE
from compare.conformance.rocketmq_proxy.parts import Attempt, Delivery, attempt_of
from compare.conformance.rocketmq_proxy.reading import RecordedCall, Recording, delivered_in, system_of
from compare.conformance.rocketmq_proxy.replay import IN_ORDER, Replay
from rocketmq_selfbalance.proxy import METHODS, StreamRefused, Told, from_json
from rocketmq_selfbalance.proxy import Settings as ClientSettings

ALLOWED_MS = 1_500
"""So far may a delivery be from its recorded time."""
_LATE_MS = 23_000
"""A call that begins so close to the end may still be open there."""
_BROKER_GONE = ("send request to ", "connect to ")
"""Beginnings of texts that name addresses and Java classes: of them the code is compared."""


def compared(replay: Replay) -> tuple[list[Difference], list[Measure]]:
    """Where the replay is not as recorded, and how far the times are from each other."""
    recording = replay.recording
    differences = [*_deliveries(replay), *_order(replay), *_answers(replay), *_streams(replay)]
    times = _times(replay)
    off = [each for each in times if not each.passed]
    differences += [Difference(each.case, each.quantity, each.real, each.model) for each in off]
    worst = max((abs(float(str(each.real)) - float(str(each.model))) for each in times), default=0.0)
    summary = Measure(recording.name, "deliveries: furthest from its time, ms", 0, worst, ALLOWED_MS, not off)
    return differences, [summary]


def recorded_deliveries(recording: Recording) -> dict[Attempt, tuple[RecordedCall, Mapping[str, object]]]:
    """Each delivery with its call and the message as it was given."""
    return {attempt_of(message): (call, message) for call in recording.grpc for message in delivered_in(call)}


def _handle(parts: Sequence[str]) -> dict[str, object]:
    """What does not depend on chance in a receipt handle."""
    return {
        "invisible": parts[2],
        "in order": parts[3] == IN_ORDER,
        "of": "topic" if parts[4] == "0" else "retry topic",
        "broker": parts[5],
        "queue": parts[6],
    }


def _named(attempt: Attempt) -> str:
    return f"{attempt.message_id}, attempt {attempt.attempt}"


def _deliveries(replay: Replay) -> Iterable[Difference]:
    name, recorded = replay.recording.name, recorded_deliveries(replay.recording)
    ours = {delivery.attempt: delivery for delivery in replay.deliveries}
    for attempt, (call, message) in recorded.items():
        told, field = ours.get(attempt), f"deliveries.{_named(attempt)}"
        if told is None:
            yield Difference(name, field, f"to {call.client}", "none")
            continue
        system = system_of(message)
        real = {"client": call.client, **_handle(str(system.get("receiptHandle")).split(" "))}
        model = {"client": told.client, **_handle(told.handle)}
        if _exchanged(replay, ours, recorded, attempt):
            model["client"] = real["client"]
        for key in real:
            if real[key] != model[key]:
                yield Difference(name, f"{field}.{key}", real[key], model[key])
    for attempt, delivery in ours.items():
        if attempt not in recorded and not _excused(replay, delivery):
            yield Difference(name, f"deliveries.{_named(attempt)}", "none", f"to {delivery.client}")


_BUSY = 16
"""Load of the recording's two processors from which requests side by side may have come to the server in another
order than they were written down."""


def _exchanged(
    replay: Replay,
    ours: Mapping[Attempt, Delivery],
    recorded: Mapping[Attempt, tuple[RecordedCall, Mapping[str, Any]]],
    attempt: Attempt,
) -> bool:
    """Whether two clients have exchanged neighbouring messages of one broker, on a busy machine."""
    if max(replay.recording.loadAverage, default=0.0) < _BUSY:
        return False
    call, told = recorded[attempt][0], ours[attempt]
    for other, (another, _) in recorded.items():
        if other not in ours or ours[other].handle[5] != told.handle[5]:
            continue
        near = abs((another.end_ms or 0) - (call.end_ms or 0)) <= ALLOWED_MS
        if near and another.client == told.client != call.client == ours[other].client:
            return True
    return False


def _excused(replay: Replay, delivery: Delivery) -> bool:
    """Whether a delivery that was not recorded is none to wonder at: it came with the end of the story, or a note says
    that a server of the recording lost its message."""
    if delivery.time > replay.recording.lengthMs - ALLOWED_MS:
        return True
    body = replay.body_of(delivery.attempt.message_id)
    return any(f"{body}," in note or f" {body} " in note for note in replay.recording.notes)


def _order(replay: Replay) -> Iterable[Difference]:
    """In each queue first attempts come in the order of their offsets; a client's deliveries of a queue in the recorded
    order."""
    name = replay.recording.name
    recorded = recorded_deliveries(replay.recording)
    for kind, found in (("recorded", _queues(_recorded_handles(recorded))), ("model", _queues(_our_handles(replay)))):
        for queue, offsets in found.items():
            if offsets != sorted(offsets):
                yield Difference(name, f"order.{kind}.{'-'.join(queue)}", sorted(offsets), offsets)


def _recorded_handles(
    recorded: Mapping[Attempt, tuple[RecordedCall, Mapping[str, Any]]],
) -> Iterable[tuple[str, Sequence[str], Attempt]]:
    for attempt, (_, message) in recorded.items():
        topic = message.get("topic", {}).get("name", "")
        yield topic, str(system_of(message).get("receiptHandle")).split(" "), attempt


def _our_handles(replay: Replay) -> Iterable[tuple[str, Sequence[str], Attempt]]:
    for delivery in replay.deliveries:
        yield replay.topic_of(delivery.attempt.message_id), delivery.handle, delivery.attempt


def _queues(handles: Iterable[tuple[str, Sequence[str], Attempt]]) -> dict[tuple[str, str, str], list[int]]:
    """Queue to the offsets of first attempts in the order of popping."""
    found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for topic, parts, attempt in handles:
        if attempt.attempt == 1 and parts[4] == "0" and parts[3] == IN_ORDER:
            found.setdefault((topic, parts[5], parts[6]), []).append((int(parts[1]), int(parts[7])))
    return {queue: [offset for _, offset in sorted(popped)] for queue, popped in found.items()}


def _times(replay: Replay) -> list[Measure]:
    ours = {delivery.attempt: delivery.time for delivery in replay.deliveries}
    found = []
    for attempt, (call, _) in recorded_deliveries(replay.recording).items():
        if attempt in ours and call.end_ms is not None:
            load = max(replay.recording.loadAverage, default=0.0)
            allowed = ALLOWED_MS * (1 + NOISE_SHARE * load / 8)
            passed = abs(ours[attempt] - call.end_ms) <= allowed
            case, what = replay.recording.name, f"deliveries.{_named(attempt)}.time, ms"
            found.append(Measure(case, what, call.end_ms, ours[attempt], allowed, passed))
    return found


def _answers(replay: Replay) -> Iterable[Difference]:
    recording = replay.recording
    for call in recording.grpc:
        if call.method not in METHODS or call.grpcStatus != "OK":
            continue
        field, told = f"{call.method} {call.call}", replay.answers.get(call.call)
        if told is None:
            if call.t_ms < recording.lengthMs - _LATE_MS and not recording.notes:
                yield Difference(recording.name, field, _status(call), "no answer")
            continue
        status = told.responses[0].status
        real, model = _status(call), (status.code.name, status.message)
        if real[1].startswith(_BROKER_GONE):
            real, model = (real[0], ""), (model[0], "")
        if real != model and not (call.method == "ReceiveMessage" and real[0] in _MAY_BE and model[0] in _MAY_BE):
            yield Difference(recording.name, f"{field}.status", list(real), list(model))
        if call.method in ("QueryRoute", "QueryAssignment") and isinstance(call.response, dict):
            yield from _whole(recording, field, call, told.responses[0])


_MAY_BE = ("OK", "MESSAGE_NOT_FOUND")
"""Which request of several gets a message is compared by the client; of one client's any may."""


def _whole(recording: Recording, field: str, call: RecordedCall, ours: object) -> Iterable[Difference]:
    """Routes and assignments are the same, field by field, unless queues have just been added."""
    real = from_json(METHODS[call.method].response, call.response)
    changes = [
        action.t_ms
        for action in recording.script
        if action.action.split(" ")[0] in ("updateTopic", "stop", "start") or action.action.endswith(("up", "stopped"))
    ]
    if any(at <= call.t_ms <= at + _ROUTES_MS for at in changes):
        return
    if real != ours:
        yield Difference(recording.name, field, str(real)[:400], str(ours)[:400])


_ROUTES_MS = 42_000
"""After a change of servers or topics routes are told at moments that depend on chance: two renewals."""


def _status(call: RecordedCall) -> tuple[str, str]:
    told = call.responses[0] if call.responses else call.response
    status = told.get("status", {}) if isinstance(told, dict) else {}
    return str(status.get("code", "")), str(status.get("message", ""))


def _streams(replay: Replay) -> Iterable[Difference]:
    """What was said on telemetry streams in answer to what clients said."""
    heard: dict[int, int] = {}
    for call in replay.recording.grpc:
        if call.method != "Telemetry":
            continue
        place = call.call, heard.get(call.call, 0)
        field = f"Telemetry {call.call}"
        if call.dir == "s>c" and call.message is not None:
            heard[call.call] = place[1] + 1
            real = from_json(ClientSettings, call.message.get("settings", {}))
            told = replay.settings.get(place)
            ours = told.command.settings if isinstance(told, Told) else None
            if ours != real:
                yield Difference(replay.recording.name, f"{field}.settings", str(real)[:400], str(ours or told)[:400])
        elif call.what == "closed" and call.grpcStatus == "INVALID_ARGUMENT":
            told = replay.settings.get(place)
            why = told.why if isinstance(told, StreamRefused) else None
            if why != call.detail:
                yield Difference(replay.recording.name, f"{field}.detail", call.detail, why)
