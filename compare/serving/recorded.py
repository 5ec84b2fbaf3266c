"""What real clients asked a served coordinator, as a trace that `equipoise conformance` plays.

Requests about one group, with their times in whole milliseconds, become the steps of a trace in the form of
tests/golden/kafka/FORMAT-coordinator.md; a coordinator in virtual time is taken through them, and what it answers and
how the group then stands is what the trace says. Whether clients on sockets were answered the same is counted.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compare.conformance.kafka_coordinator import Session
from compare.conformance.kafka_coordinator_shapes import OPERATIONS, answer, written
from compare.json_types import Json
from compare.serving.cluster import Served
from compare.serving.history import Heard, TopicChange
from compare.serving.kafka import KafkaService
from kafka_coordinator.cluster import ConsumerGroupHeartbeat, JoinGroupAnswer
from protocols.engine.nodes import Message, Time
from protocols.scenario.events import BrokerEvent, Network


class Recording(NamedTuple):
    """A trace, and how many answers that clients were given are others in it."""

    trace: Mapping[str, object]
    differing: int


def recording(
    group: str,
    heard: Sequence[Heard],
    topics: Sequence[TopicChange],
    topic_ids: Mapping[str, str],
    config: Mapping[str, object],
) -> Recording:
    """The trace of one group. ``topics``: at least one, the first of which holds from the beginning; ``topic_ids``: in
    base64; ``config``: settings of the broker that are not the defaults."""
    messages: dict[tuple[str, int], Message] = {}
    for each in heard:
        if each.is_answer:
            messages.setdefault((each.peer, each.message[0]), each.message)
    made = [each.message.member_id for each in heard if isinstance(each.message, JoinGroupAnswer)]
    ids = {f"m{number}": member for number, member in enumerate(dict.fromkeys(filter(None, made)), 1)}
    symbols = {member: symbol for symbol, member in ids.items()}
    steps: list[dict[str, object]] = []
    asked: dict[int, tuple[str, int]] = {}
    began = heard[0].at if heard else 0.0
    for at, op, req, source in _in_order(group, heard, topics[1:]):
        elapsed = int(at - began) - sum(step["req"]["ms"] for step in steps if step["op"] == "advance")  # type: ignore[index]
        if elapsed > 0:
            steps.append({"op": "advance", "req": {"ms": elapsed}})
        if source is not None:
            asked[len(steps)] = source
        steps.append({"op": op, "req": _with_symbols(req, symbols)})
    session = Session(ids, dict(config), dict(topics[0].topics), dict(topic_ids), steps)  # type: ignore[arg-type]
    played = [session.step(number, step) for number, step in enumerate(steps)]  # type: ignore[arg-type]
    for number, completed in session.completed_at.items():
        played[number]["completed_at_step"] = completed
    trace = {
        "trace_id": f"served-{group}",
        "protocol": "consumer" if ConsumerGroupHeartbeat in {type(each.message) for each in heard} else "classic",
        "scenario": "served",
        "config": dict(config),
        "topics": dict(topics[0].topics),
        "topic_ids": dict(topic_ids),
        "ids": ids,
        "steps": played,
    }
    answered = dict(_answers(played))
    differing = sum(
        source in messages and number in answered and answer(messages[source]) != answered[number]
        for number, source in asked.items()
    )
    return Recording(trace, differing)


def _with_symbols(req: Mapping[str, Json], symbols: Mapping[str, str]) -> dict[str, Json]:
    """The request with symbols for ids that the coordinator has made."""
    with_symbols = dict(req)
    if isinstance(member := req.get("member_id"), str):
        with_symbols["member_id"] = symbols.get(member, member)
    if isinstance(assignments := req.get("assignments"), dict):
        with_symbols["assignments"] = {symbols.get(member, member): text for member, text in assignments.items()}
    if isinstance(members := req.get("members"), list):
        with_symbols["members"] = [_with_symbols(each, symbols) for each in members if isinstance(each, dict)]
    return with_symbols


def _answers(played: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, object]]:
    for number, step in enumerate(played):
        if "resp" in step:
            yield number, step["resp"]
        for each in step["completed"]:
            yield each["step"], each["resp"]


def _in_order(
    group: str, heard: Sequence[Heard], topics: Sequence[TopicChange]
) -> Iterator[tuple[Time, str, dict[str, Json], tuple[str, int] | None]]:
    """Time, operation, request and where it came from, in the order of time."""
    waiting = list(topics)
    for each in heard:
        while waiting and waiting[0].at <= each.at:
            change = waiting.pop(0)
            yield change.at, "set_topics", {"topics": dict(change.topics)}, None
        op = OPERATIONS.get(type(each.message))
        if not each.is_answer and op is not None and getattr(each.message, "group", None) == group:
            yield each.at, op, {"group_id": group, **written(each.message)}, (each.peer, each.message[0])


_LOST = (BrokerEvent, Network)
"""Events that a trace of one coordinator has no step for."""


def recordings(served: Served, settings: Mapping[str, object]) -> tuple[str, Sequence[str]]:
    """The lines of the file, and what is to be said about them; no lines where nothing can be recorded so.
    ``settings``: the broker's that are not the defaults."""
    service, history = served.service, served.history
    if not isinstance(service, KafkaService):
        return "", ["no recording for conformance: its traces are of Kafka's coordinator"]
    if any(isinstance(event, _LOST) for event in history.events.values()) or len(service.brokers) > 1:
        return "", ["no recording for conformance: its traces are of one broker to which nothing happened"]
    ids = {
        topic: base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")
        for topic, number in service.cluster.controller.topic_ids.items()
    }
    lines, told = [], []
    for group in history.scenario("", served.world.now).groups:
        found = recording(group, history.heard, history.topic_changes, ids, settings)
        lines.append(json.dumps(found.trace, allow_nan=False))
        if found.differing:
            told.append(f"{found.differing} answers to group {group!r} differ from the trace, whose times are whole ms")
    return "".join(f"{line}\n" for line in lines), told
