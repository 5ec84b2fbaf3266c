"""Conversations with a broker over several connections, played again: which steps there are, and what is answered.

A file of conversations has one a line: ``seed``, ``steps`` and ``answers``. A step is the API, its version, the name of
the connection, and the request's fields as Python writes them (`ast.literal_eval`): those of all versions, of which the
asked one takes its own. ``("id", topic)`` stands for a topic's id, ``$m2`` for the second member id with which a
JoinGroup was answered, and so do other tuples for what was answered last (`Player._learned`). A step of no API hears
what is still to be answered on its connection. ``answers`` has a step's number (a text, as JSON wants it) and what the
real broker said.
"""

import gzip
import json
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from time import sleep
from typing import Any, Final, NamedTuple, get_args
from uuid import UUID

from kio.schema.index import api_key_map

from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.entities import part
from kafka_coordinator.wire.schemas import request_schema
from tests.kafka_coordinator.wire.broker_answers import whole_batches
from tests.kafka_coordinator.wire.plain import plain, request
from tests.kafka_coordinator.wire.raw_client import RawClient

KEYS: Final = {"".join(map(str.capitalize, name.split("_"))): key for key, name in api_key_map.items()}
CLOSED, PENDING = "closed", "pending"
_WAITS: Final = ("JoinGroup", "SyncGroup")
"""What a broker answers only when other members have come."""
_AT_ONCE_S, _LATE_S = 0.1, 20.0
_NO_ANSWERS: Final[Mapping[int, Any]] = {}
_NOTHING: Final[Mapping[str, tuple[Any, ...]]] = {"port": (), "producer_id": (-1,)}
_TELL_IDS: Final = (KEYS["CreateTopics"], KEYS["Metadata"])
_BEFORE: Final[Mapping[str, Any]] = {"member": "", "generation": -1, "epoch": 0, "owned": [], "session": 0}
_CHANGE: Final = ("Create", "Delete", "Alter", "Incremental")
_UNKNOWN: Final = UUID(int=77)
_VARYING: Final = {
    **dict.fromkeys(("host", "port", "cluster_id", "log_append_time"), "varies"),
    "session_id": "session",
    "producer_id": "pid",
}
_GENERATED: Final = re.compile(r"[\w.-]*?-?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_BOUNDS: Final = re.compile(r"within \[.*?\]")


_SHORT: Final = re.compile(r"[\w-]{22}")
"""How Kafka writes an id that it makes for a member of the consumer protocol."""


class Step(NamedTuple):
    """One request."""

    api: str
    version: int
    connection: str
    values: dict[str, Any]


class Conversation(NamedTuple):
    """Steps with what the real broker answered; the ids that it made, of topics and of members, in their order."""

    seed: int
    steps: tuple[Step, ...]
    answers: Mapping[int, Any]
    topic_ids: Sequence[str] = ()
    member_ids: Sequence[str] = ()


def read(path: Path) -> list[Conversation]:
    """The conversations of a file."""
    found = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        each = json.loads(line)
        steps = tuple([Step(api, version, name, literal_eval(text)) for api, version, name, text in each["steps"]])
        answers = {int(at): one for at, one in each["answers"].items()}
        found.append(Conversation(each["seed"], steps, answers, each.get("topics", ()), each.get("members", ())))
    return found


def write(path: Path, conversations: Iterable[Conversation]) -> None:
    """The file that `read` reads."""
    lines = [
        json.dumps(
            {
                "seed": each.seed,
                "steps": [[step.api, step.version, step.connection, repr(step.values)] for step in each.steps],
                "answers": each.answers,
                "topics": each.topic_ids,
                "members": each.member_ids,
            },
            separators=(",", ":"),
        )
        for each in conversations
    ]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))


class Player:
    """Asks a broker step by step; what it learns of topics and members stands in later steps."""

    def __init__(self, address: str, wait_s: float = _AT_ONCE_S, settles_s: float = 0.0) -> None:
        """``settles_s``: how long a real broker takes to hear from its controller of a change."""
        self._address, self._wait_s, self._settles_s = address, wait_s, settles_s
        self._last: dict[tuple[str, str], Any] = {}
        self.member_ids: list[str] = []
        """That the broker has made in the conversation."""
        self.first_ids: dict[str, str] = {}
        """Topic to the id that it had first."""
        self._clients: dict[str, RawClient] = {}
        self._waiting: dict[str, type[Any]] = {}
        self._topics: dict[str, UUID] = {}
        self._members: list[str] = []
        self._groups: set[str] = set()

    def close(self) -> None:
        for each in self._clients.values():
            each.close()

    def play(self, steps: Sequence[Step], recorded: Mapping[int, Any] = _NO_ANSWERS) -> list[Any]:
        """What is answered to each. What another broker has answered by then is waited for, on a busy machine too."""
        self._members.clear()
        self._last.clear()
        self.member_ids.clear()
        self._prefixes = {"1", *(new["name"][:5] for step in steps[:1] for new in step.values["topics"])}
        self._groups = {name for step in steps for name in _groups(step.values)}
        answers = [self.ask(step, recorded.get(at, PENDING) != PENDING) for at, step in enumerate(steps, 1)]
        self.close()
        self._clients.clear()
        self._waiting.clear()
        return answers

    def ask(self, step: Step, answered: bool = False) -> Any:
        """The answer in plain values, without what differs from run to run; `CLOSED`, or `PENDING`."""
        if not step.api:
            return self._late(step.connection, _LATE_S if answered else self._wait_s / 3)
        kind = request_schema(KEYS[step.api], step.version)
        client = self._client(step.connection)
        client.send(request(kind.__api_key__, step.version, **self._filled(kind, step.values)))
        if not client.is_answered(self._wait_s if step.api in _WAITS and not answered else _LATE_S):
            self._waiting[step.connection] = kind
            if self._settles_s and step.api == "JoinGroup":
                self._learn_made_id(step.values["group_id"])
            return PENDING
        answer = self._heard(step.connection, kind, step.values)
        sleep(self._settles_s * (1 if step.api.startswith(_CHANGE) else 0.1))
        return answer

    def _learn_made_id(self, group: str) -> None:
        """Of a real broker: which id it has made for a member whose join may never be answered."""
        with RawClient(self._address) as client:
            described = client.ask(request(KEYS["DescribeGroups"], 5, groups=[group])).groups[0]
        self._note_ids(each.member_id for each in described.members)

    def _note_ids(self, ids: Iterable[str]) -> None:
        made = [each for each in ids if _GENERATED.fullmatch(each) or _SHORT.fullmatch(each)]
        self.member_ids += [each for each in made if each not in self.member_ids]

    def _client(self, name: str) -> RawClient:
        """The connection of this name; a new one where an answer is still awaited on it."""
        waiting = self._waiting.pop(name, None)
        if waiting is not None:
            if self._clients[name].is_answered(0):
                self._heard(name, waiting, {})
            else:
                self._clients.pop(name).close()
        if name not in self._clients:
            self._clients[name] = RawClient(self._address)
        return self._clients[name]

    def _late(self, name: str, wait_s: float) -> Any:
        """What was to be answered on this connection and is by now; None: nothing."""
        kind = self._waiting.get(name)
        if kind is None:
            return None
        if not self._clients[name].is_answered(wait_s):
            return PENDING
        return self._heard(name, self._waiting.pop(name), {})

    def _heard(self, name: str, kind: Any, asked: Mapping[str, Any]) -> Any:
        answer = self._clients[name].hear(kind)
        if answer is None:
            self._clients.pop(name).close()
            return CLOSED
        if kind.__api_key__ == KEYS["JoinGroup"] and answer.member_id:
            self._members += [answer.member_id] * (answer.member_id not in self._members)
        for topic in answer.topics if kind.__api_key__ in _TELL_IDS else ():
            if topic.name and getattr(topic, "topic_id", None):
                self._topics[topic.name] = topic.topic_id
                self.first_ids.setdefault(topic.name, str(topic.topic_id))
        self._learn(name, kind.__api_key__, answer, asked)
        found = self._steady(plain(answer))
        if kind.__api_key__ == KEYS["ApiVersions"]:
            served = [each for each in found["api_keys"] if each["api_key"] in APIS]
            return {"error_code": found["error_code"], "api_keys": served}
        if kind.__api_key__ == KEYS["ListConfigResources"]:
            named = [each for each in found["config_resources"] if each["resource_name"][:5] in self._prefixes]
            return {**found, "config_resources": named}
        if kind.__api_key__ == KEYS["ListGroups"]:
            found["groups"] = [each for each in found["groups"] if each["group_id"] in self._groups]
        return found

    def _filled(self, kind: Any, values: Any) -> Any:
        """Those of the values that the version has, with what was learned in the place of names for it."""
        if isinstance(values, dict):
            types = {each.name: each.type for each in fields(kind)}
            known = {
                name: "" if each is None and type(None) not in get_args(types[name]) else each
                for name, each in values.items()
                if name in types
            }
            return {name: self._filled(_inner(kind, name, each), each) for name, each in known.items()}
        if isinstance(values, list):
            return [self._filled(kind, each) for each in values]
        if isinstance(values, tuple):
            return self._learned(*values)
        if isinstance(values, str) and values.startswith("$m"):
            number = int(values[2:]) - 1
            return self._members[number] if number < len(self._members) else values
        return values

    def _learn(self, name: str, key: int, answer: Any, asked: Mapping[str, Any]) -> None:
        last = self._last
        self._note_ids([getattr(answer, "member_id", None) or ""])
        if key == KEYS["JoinGroup"]:
            last["member", name] = answer.member_id or last.get(("member", name), "")
            last["generation", name] = answer.generation_id
        elif key == KEYS["ConsumerGroupHeartbeat"] and answer.error_code == 0:
            last["epoch", asked["member_id"]] = answer.member_epoch
            if answer.assignment is not None:
                last["owned", asked["member_id"]] = [
                    {"topic_id": each.topic_id, "partitions": list(each.partitions)}
                    for each in answer.assignment.topic_partitions
                ]
        elif key == KEYS["Fetch"] and getattr(answer, "session_id", 0):
            last["session", name] = answer.session_id

    def _learned(self, what: str, of: str) -> Any:
        """``id`` of a topic; ``epoch`` and ``owned`` of a member of the consumer protocol; of a connection ``member``
        (its id), ``generation`` and ``session`` (of its fetches)."""
        if what == "id":
            return self._topics.get(of, _UNKNOWN)
        return self._last.get((what, of), _BEFORE[what])

    def _field(self, name: str, value: Any) -> Any:
        if name in _VARYING and value not in _NOTHING.get(name, (None, "", 0)):
            return _VARYING[name]
        if name == "records" and value:
            return whole_batches(value)
        return self._steady(value)

    def _steady(self, value: Any) -> Any:
        """Member ids and topic ids by name."""
        if isinstance(value, dict):
            return {name: self._field(name, each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._steady(each) for each in value]
        if isinstance(value, str):
            value = _BOUNDS.sub("within [...]", value)
            for number, each in enumerate(self._members, 1):
                value = value.replace(each, f"$m{number}")
            for name, known in self._topics.items():
                value = value.replace(f"id {known}", f"#{name}")
        return value


def differences(known: Conversation, ours: Sequence[Any]) -> dict[int, tuple[Any, Any]]:
    """The steps to which the real broker has answered otherwise, with both answers. What it generates itself is alike
    in both, and so are lists in another order, as Kafka's often follows from hashes."""
    pairs = {at: (_unordered(real), _unordered(_then_served(real, ours[at - 1]))) for at, real in known.answers.items()}
    return {at: pair for at, pair in pairs.items() if pair[0] != pair[1]}


def _then_served(real: Any, ours: Any) -> Any:
    """Our answer without the APIs that are served since the recording, which has those alone that were served then."""
    if not isinstance(ours, dict) or not isinstance(real, dict) or "api_keys" not in ours:
        return ours
    recorded = {each["api_key"] for each in real.get("api_keys", ())}
    return {**ours, "api_keys": [each for each in ours["api_keys"] if each["api_key"] in recorded]}


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: sorted(each) if name == "subscribed_topic_names" and each else _unordered(each)
            for name, each in value.items()
        }
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
