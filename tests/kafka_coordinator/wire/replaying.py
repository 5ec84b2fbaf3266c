"""Conversations with a broker over several connections, played again: which steps there are, and what is answered.

A file of conversations has one a line: ``seed``, ``steps`` and ``answers``. A step is the API, its version, the name of
the connection, and the request's fields as Python writes them (`ast.literal_eval`): those of all versions, of which the
asked one takes its own. ``("id", topic)`` stands for a topic's id, ``$m2`` for the second member id with which a
JoinGroup was answered. ``answers`` has a step's number (a text, as JSON wants it) and what the real broker said.
"""

import gzip
import json
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from kio.index import load_request_schema
from kio.schema.index import api_key_map

from kafka_coordinator.wire.entities import has, part
from tests.kafka_coordinator.wire.plain import plain, request
from tests.kafka_coordinator.wire.raw_client import RawClient

KEYS: Final = {"".join(map(str.capitalize, name.split("_"))): key for key, name in api_key_map.items()}
CLOSED, PENDING = "closed", "pending"
_WAITS: Final = ("JoinGroup", "SyncGroup")
"""What a broker answers only when other members have come."""
_AT_ONCE_S, _LATE_S = 0.1, 20.0
_NOTHING: Final = (None, "", 0, -1)
_TELL_IDS: Final = (KEYS["CreateTopics"], KEYS["Metadata"])
_UNKNOWN: Final = UUID(int=77)
_VARYING: Final = {
    **dict.fromkeys(("host", "port", "cluster_id", "log_append_time"), "varies"),
    "session_id": "session",
    "producer_id": "pid",
}
_GENERATED: Final = re.compile(r"[\w.-]*?-?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Step(NamedTuple):
    """One request."""

    api: str
    version: int
    connection: str
    values: dict[str, Any]


class Conversation(NamedTuple):
    seed: int
    steps: tuple[Step, ...]
    answers: Mapping[int, Any]


def read(path: Path) -> list[Conversation]:
    """The conversations of a file."""
    found = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        each = json.loads(line)
        steps = tuple([Step(api, version, name, literal_eval(text)) for api, version, name, text in each["steps"]])
        found.append(Conversation(each["seed"], steps, {int(at): one for at, one in each["answers"].items()}))
    return found


class Player:
    """Asks a broker step by step; what it learns of topics and members stands in later steps."""

    def __init__(self, address: str, wait_s: float = _AT_ONCE_S) -> None:
        self._address, self._wait_s = address, wait_s
        self._clients: dict[str, RawClient] = {}
        self._waiting: dict[str, type[Any]] = {}
        self._topics: dict[str, UUID] = {}
        self._members: list[str] = []
        self._groups: set[str] = set()

    def close(self) -> None:
        for each in self._clients.values():
            each.close()

    def play(self, steps: Sequence[Step]) -> list[Any]:
        """What is answered to each."""
        self._members.clear()
        self._groups = {name for step in steps for name in _groups(step.values)}
        answers = [self.ask(step) for step in steps]
        self.close()
        self._clients.clear()
        self._waiting.clear()
        return answers

    def ask(self, step: Step) -> Any:
        """The answer in plain values, without what differs from run to run; `CLOSED`, or `PENDING`."""
        kind = load_request_schema(KEYS[step.api], step.version)
        client = self._client(step.connection)
        client.send(request(kind.__api_key__, step.version, **self._filled(kind, step.values)))
        if not client.is_answered(self._wait_s if step.api in _WAITS else _LATE_S):
            self._waiting[step.connection] = kind
            return PENDING
        return self._heard(step.connection, kind)

    def _client(self, name: str) -> RawClient:
        """The connection of this name; a new one where an answer is still awaited on it."""
        waiting = self._waiting.pop(name, None)
        if waiting is not None:
            if self._clients[name].is_answered(0):
                self._heard(name, waiting)
            else:
                self._clients.pop(name).close()
        if name not in self._clients:
            self._clients[name] = RawClient(self._address)
        return self._clients[name]

    def _heard(self, name: str, kind: Any) -> Any:
        answer = self._clients[name].hear(kind)
        if answer is None:
            self._clients.pop(name).close()
            return CLOSED
        if kind.__api_key__ == KEYS["JoinGroup"] and answer.member_id:
            self._members += [answer.member_id] * (answer.member_id not in self._members)
        for topic in answer.topics if kind.__api_key__ in _TELL_IDS else ():
            if topic.name and getattr(topic, "topic_id", None):
                self._topics[topic.name] = topic.topic_id
        found = self._steady(plain(answer))
        if kind.__api_key__ == KEYS["ListGroups"]:
            found["groups"] = [each for each in found["groups"] if each["group_id"] in self._groups]
        return found

    def _filled(self, kind: Any, values: Any) -> Any:
        """Those of the values that the version has, with what was learned in the place of names for it."""
        if isinstance(values, dict):
            known = {name: each for name, each in values.items() if has(kind, name)}
            return {name: self._filled(_inner(kind, name, each), each) for name, each in known.items()}
        if isinstance(values, list):
            return [self._filled(kind, each) for each in values]
        if isinstance(values, tuple):
            return self._topics.get(values[1], _UNKNOWN)
        if isinstance(values, str) and values.startswith("$m"):
            number = int(values[2:]) - 1
            return self._members[number] if number < len(self._members) else values
        return values

    def _steady(self, value: Any) -> Any:
        """Member ids and topic ids by name."""
        if isinstance(value, dict):
            return {
                name: _VARYING[name]
                if name in _VARYING and (name == "port" or each not in _NOTHING)
                else self._steady(each)
                for name, each in value.items()
            }
        if isinstance(value, list):
            return [self._steady(each) for each in value]
        if isinstance(value, str):
            for number, each in enumerate(self._members, 1):
                value = value.replace(each, f"$m{number}")
            for name, known in self._topics.items():
                value = value.replace(f"id {known}", f"#{name}")
        return value


def differences(known: Conversation, ours: Sequence[Any]) -> dict[int, tuple[Any, Any]]:
    """The steps to which the real broker has answered otherwise, with both answers. What it generates itself is alike
    in both, and so are lists in another order, as Kafka's often follows from hashes."""
    pairs = {at: (_unordered(real), _unordered(ours[at - 1])) for at, real in known.answers.items()}
    return {at: pair for at, pair in pairs.items() if pair[0] != pair[1]}


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unordered(each) for name, each in value.items()}
    if isinstance(value, list):
        made = [_unordered(each) for each in value]
        return sorted(made, key=json.dumps) if made and isinstance(made[0], dict) else made
    return _GENERATED.sub("*", value) if isinstance(value, str) else value


def _groups(values: Mapping[str, Any]) -> Iterable[str]:
    """Groups that a request names: of others that there are nothing is compared."""
    named = [values.get("group_id"), *values.get("group_ids", ()), *values.get("groups_names", ())]
    return [name for name in named if name]


def _inner(kind: Any, name: str, value: Any) -> Any:
    return part(kind, name) if isinstance(value, dict) or (value and isinstance(value, list)) else kind
