"""What clients asked a served coordinator and were answered, as it was written down line by line, and the traces of
groups that `compare.conformance.kafka_coordinator` plays, made from it.

The lines are JSON objects, in the order of time; times are milliseconds.

| line | what it says |
|---|---|
| ``{"served": "kafka", "kafka", "config", "topics", "topic_ids"}`` | the first: version, settings, topics |
| ``{"at", "from", "n", "op", "group", "req"}`` | request n over a connection, as traces write requests |
| ``{"at", "to", "n", "resp"}`` | the answer to it |
| ``{"at", "topic", "partitions", "id"}`` | a topic has so many partitions from now on; null: it is gone |
| ``{"at", "untraceable"}`` | something has happened that traces have no step for |

The last line may be cut: whoever wrote it was killed. A trace is one group's: its requests, the ids of its members, and
the topics that it names, or all where it subscribes to a pattern. Its answers are those that the clients were given;
the states between them, which nobody sees on a connection, and the steps in which joins end are the model's own. So a
trace shows whether this package still answers these clients as it did, not how Kafka would answer them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from compare.conformance.cases import lines
from compare.conformance.kafka_coordinator import Session
from compare.json_types import Json

FIRST = b'{"served": '
"""How the first line begins."""

_NAMES, _PAIRS = ("topics", "subscribed"), ("owned", "offsets", "partitions")
"""Fields of requests that hold topics, and such as hold lists that begin with a topic."""

_UUID_LENGTH = 36

_JOINS = ("join_group", "consumer_group_heartbeat")
"""Requests in answer to which the coordinator makes an id for a member that has none."""


_Step = dict[str, Any]


class Trace(NamedTuple):
    """A group's trace, and how many answers the model gives otherwise than the clients were given them: those that
    `equipoise conformance` shows."""

    group: str
    content: Mapping[str, object]
    differing: int


@dataclass(slots=True)
class _Asked:
    """A request of a group, and what it was answered; None: nothing so far."""

    at: float
    op: str
    req: dict[str, Any]
    resp: Any = None


@dataclass(slots=True)
class Written:
    """What the lines say. ``untraceable`` is why there can be no traces, where there can be none."""

    version: str | None = None
    config: dict[str, Json] = field(default_factory=dict)
    topics: list[tuple[float, str, int | None]] = field(default_factory=list)
    """Time, topic, its partitions from then on."""
    ids: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[_Asked]] = field(default_factory=dict)
    untraceable: str = ""


def written(lines: Iterable[bytes]) -> Written:
    """What these lines say, up to the first that is cut."""
    found = Written()
    waiting: dict[tuple[str, int], _Asked] = {}
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            break
        if "op" in line:
            asked = waiting[line["from"], line["n"]] = _Asked(line["at"], line["op"], line["req"])
            found.groups.setdefault(line["group"], []).append(asked)
        elif "resp" in line:
            answered = waiting.pop((line["to"], line["n"]), None)
            if answered is not None:
                answered.resp = line["resp"]
        elif "topic" in line:
            found.topics.append((line["at"], line["topic"], line["partitions"]))
            if line["partitions"] is not None:
                found.ids[line["topic"]] = line["id"]
        elif "served" in line:
            found.version, found.config = line.get("kafka"), line["config"]
            found.topics += [(0.0, topic, count) for topic, count in line["topics"].items()]
            found.ids |= line["topic_ids"]
        else:
            found.untraceable = line.get("untraceable", "")
    return found


def lines_or_traces(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """As `cases.lines`, but of a file that was written line by line while clients were served its traces."""
    read = lines(path)
    first = next(read, None)
    if first is not None and first[1].startswith(FIRST):
        read = chain((first,), read)
        for number, trace in enumerate(traces(written(text for _, text, _ in read)), 1):
            yield number, json.dumps(trace.content).encode(), path.stat().st_size
    elif first is not None:
        yield from chain((first,), read)


def traces(found: Written) -> Iterator[Trace]:
    """The trace of each group, in the order in which groups came."""
    for group, asked in found.groups.items():
        yield _trace(found, group, asked)


def _trace(found: Written, group: str, asked: list[_Asked]) -> Trace:
    ids = _member_ids(asked)
    symbols = {member: symbol for symbol, member in ids.items()}
    named = _named_topics(asked)
    changes = [change for change in found.topics if named is None or change[1] in named]
    began = asked[0].at
    first = {topic: count for at, topic, count in changes if at <= began and count is not None}
    later = iter([change for change in changes if change[0] > began])
    topics, steps, answered, elapsed = dict(first), list[_Step](), dict[int, object](), 0
    change = next(later, None)

    def advance(at: float) -> None:
        nonlocal elapsed
        by = int(at - began) - elapsed
        if by > 0:
            elapsed += by
            steps.append({"op": "advance", "req": {"ms": by}})

    for each in asked:
        while change is not None and change[0] <= each.at:
            at, topic, count = change
            topics = {name: known for name, known in {**topics, topic: count}.items() if known is not None}
            advance(at)
            steps.append({"op": "set_topics", "req": {"topics": topics}})
            change = next(later, None)
        advance(each.at)
        if each.resp is not None:
            answered[len(steps)] = each.resp
        steps.append({"op": each.op, "req": _with_symbols({"group_id": group, **each.req}, symbols)})
    topic_ids = {each[1]: found.ids[each[1]] for each in changes if each[1] in found.ids}
    session = Session(ids, found.config, first, topic_ids, steps, found.version)
    played = [session.step(number, step) for number, step in enumerate(steps)]
    for number, completed in session.completed_at.items():
        played[number]["completed_at_step"] = completed
    content = {
        "trace_id": f"served-{group}",
        **({} if found.version is None else {"kafka": found.version}),
        "protocol": "consumer" if any(each.op == "consumer_group_heartbeat" for each in asked) else "classic",
        "scenario": "served",
        "config": found.config,
        "topics": first,
        "topic_ids": topic_ids,
        "ids": ids,
        "steps": played,
    }
    differing = 0
    for number, answer in _answers(played):
        if number in answered:
            differing += answer["resp"] != answered[number]
            answer["resp"] = answered[number]
    return Trace(group, content, differing)


def _member_ids(asked: list[_Asked]) -> dict[str, str]:
    """Symbols to the ids that the coordinator has made for members of the group, in the order in which it made them. An
    id whose request was never answered is that which a leader was told of the member, or has a name of its own."""
    joins = [each for each in asked if each.op in _JOINS and not each.req.get("member_id")]
    answered = [each.resp for each in asked if each.op in _JOINS and each.resp is not None]
    known = {resp.get("member_id") for resp in answered}
    told = dict.fromkeys(member["member_id"] for resp in answered for member in resp.get("members") or ())
    unknown = [member for member in told if member not in known]
    made: dict[str, None] = {}
    for number, each in enumerate(joins):
        if each.resp is None:
            # As the coordinator names members (`kafka_coordinator.coordinator.join`).
            prefix = f"{each.req.get('instance_id') or each.req.get('client_id', '')}-"
            own = (id for id in unknown if id.startswith(prefix) and len(id) == len(prefix) + _UUID_LENGTH)
            member = next(own, f"{prefix}never-told-{number}")
            unknown = [id for id in unknown if id != member]
            made[member] = None
        elif each.resp.get("member_id"):
            made[each.resp["member_id"]] = None
    return {f"m{number}": member for number, member in enumerate(made, 1)}


def _named_topics(asked: list[_Asked]) -> frozenset[str] | None:
    """The topics that the group's requests name; None: it subscribes to a pattern."""
    named: set[str] = set()
    for each in asked:
        if each.req.get("regex"):
            return None
        for name in _NAMES:
            named.update(each.req.get(name) or ())
        for name in _PAIRS:
            named.update(pair[0] for pair in each.req.get(name) or ())
    return frozenset(named)


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


def _answers(played: Iterable[_Step]) -> Iterator[tuple[int, _Step]]:
    """The number of each step that is answered, and what holds its answer as ``resp``."""
    for number, step in enumerate(played):
        if "resp" in step:
            yield number, step
        for each in step["completed"]:
            yield each["step"], each
