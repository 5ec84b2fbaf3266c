"""What servers and clients answer, as values: JSON bodies, of which nothing is believed before it was looked at. As
RocketMQ's servers write it, a map's key may be an object or a bare number.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from compare.reading.rocketmq.route import MOST_QUEUES
from compare.reading.rocketmq_live.client import Address, Refused, parsed
from protocols import Queue, sort_queues
from rocketmq_selfbalance.cluster import MASTER_ID, PERM_READ

LooseJson: TypeAlias = "bool | int | float | str | list[LooseJson] | LooseObject | None"
LooseObject: TypeAlias = "dict[str, LooseJson]"

OBJECT_KEY = "\0"
"""What a key that is an object begins with; its own text follows."""

_plain = json.JSONDecoder().raw_decode
_BLANKS = " \t\r\n"

_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(
    rf"""{_STRING}
    | (?P<object> \{{ [^{{}}\[\]"]*+ (?: {_STRING} [^{{}}\[\]"]*+ )*+ \}} ) [ \t\r\n]*+ :
    | (?<=[{{,]) [ \t\r\n]*+ (?P<number> 0 | [1-9][0-9]*+ ) [ \t\r\n]*+ :""",
    re.DOTALL | re.VERBOSE,
)
"""Strings, and keys that are flat objects or whole numbers."""
_OBJECT_KEY = re.compile(r"(\{[^{}\[\]]*\})[ \t\r\n]*:")
_NUMBER_KEY = re.compile(r"([{,])[ \t\r\n]*(0|[1-9][0-9]*)[ \t\r\n]*:")
_SIGNS = re.compile(r"[{}\[\],]")
_KEYS_REMEMBERED = 1 << 16


def loads(text: str) -> LooseJson:
    """The value that the text stands for. A key that is an object becomes its own text behind `OBJECT_KEY`.

    Raises `ValueError` for anything that is not such JSON.
    """
    if "\\u0000" not in text:
        try:
            return _quickly(text)
        except (ValueError, RecursionError):
            pass  # rarer forms, and what is wrong
    return _thoroughly(text)


def _quickly(text: str) -> LooseJson:
    """By Python's own parser, which is written in C: keys are put in quotes before. `ValueError` for other forms."""
    plain = "\\" not in text and _SIGNS.search("".join(text.split('"')[1::2])) is None
    value: LooseJson = json.loads(_quoted(text) if plain else _quoted_between_strings(text))
    return value


def _quoted(text: str) -> str:
    """The text with all keys in quotes; none of its strings holds a backslash or one of `_SIGNS`."""
    parts = _OBJECT_KEY.split(text)
    if len(parts) == 1:
        return _NUMBER_KEY.sub(r'\1"\2":', text)
    keys = [f"{_object_key(key)}:" for key in parts[1::2]]
    if _NUMBER_KEY.search(text):
        parts = [_NUMBER_KEY.sub(r'\1"\2":', part) for part in parts]
    parts[1::2] = keys
    return "".join(parts)


def _quoted_between_strings(text: str) -> str:
    """The text with all keys in quotes, whatever its strings hold."""
    parts: list[str] = []
    done = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup is not None:
            name = token[token.lastgroup]
            parts += text[done : token.start()], _object_key(name) if token.lastgroup == "object" else f'"{name}"', ":"
            done = token.end()
    return "".join((*parts, text[done:]))


@lru_cache(_KEYS_REMEMBERED)
def _object_key(text: str) -> str:
    """The text in quotes that stands for an object as a key; `ValueError` if it is no object."""
    json.loads(text)
    return json.dumps(OBJECT_KEY + text)


def _thoroughly(text: str) -> LooseJson:
    """As `loads`, character by character."""
    try:
        value, at = _value(text, _skip(text, 0))
    except (IndexError, RecursionError, TypeError):
        raise ValueError("JSON that ends too early or cannot be") from None
    if _skip(text, at) != len(text):
        raise ValueError(f"more than one JSON value, the second at character {at}")
    return value


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[LooseJson, int]:
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _array(text, at)
    return _plain(text, at)


def _object(text: str, at: int) -> tuple[LooseObject, int]:
    loose_object: LooseObject = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        start = at
        key, at = _value(text, at)
        name = OBJECT_KEY + text[start:at] if isinstance(key, dict) else str(key)
        at = _expect(text, at, ":")
        loose_object[name], at = _value(text, at)
        at = _next(text, at, "}")
    return loose_object, at + 1


def _array(text: str, at: int) -> tuple[list[LooseJson], int]:
    loose_jsons: list[LooseJson] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, at = _value(text, at)
        loose_jsons.append(value)
        at = _next(text, at, "]")
    return loose_jsons, at + 1


def _expect(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at] != sign:
        raise ValueError(f"expected {sign!r} at character {at}, got {text[at]!r}")
    return _skip(text, at + 1)


def _next(text: str, at: int, end: str) -> int:
    """Where the next element begins, or where the end sign is."""
    at = _skip(text, at)
    return at if text[at] == end else _expect(text, at, ",")


_QUEUES_REMEMBERED = 1 << 16
_ROUTES_REMEMBERED = 1 << 13


class TopicRoute(NamedTuple):
    """A topic's route: its readable queues, and who answers for each of its brokers."""

    queues: tuple[Queue, ...]
    brokers: Mapping[str, Address]


def body_of(body: bytes) -> LooseObject:
    """The JSON object that an answer holds, empty for an empty one; `Refused` for anything else."""
    try:
        value = loads(body.decode("utf-8", "replace")) if body else {}
    except ValueError as error:
        raise _strange(str(error)) from None
    if not isinstance(value, dict):
        raise _strange("JSON that is not an object")
    return value


def mapping(value: LooseJson) -> LooseObject:
    """An object; empty where there is none."""
    return value if isinstance(value, dict) else {}


def objects(value: LooseJson) -> list[LooseObject]:
    """The objects of a list; none where there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def names(value: LooseJson) -> tuple[str, ...]:
    """The texts of a list, or the keys of an object, sorted."""
    return tuple(sorted(map(str, value))) if isinstance(value, list | dict) else ()


def whole(of: LooseObject, name: str) -> int:
    """A whole number, 0 where there is none; `Refused` for what is no number."""
    value = of.get(name, 0)
    try:
        if isinstance(value, int | float | str):
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise _strange(f"{name} is {str(value)[:40]!r}")


def topics(body: bytes) -> tuple[str, ...]:
    """The topics of a cluster, sorted; `Refused` for what is no answer."""
    return names(body_of(body).get("topicList"))


def broker_names(body: bytes) -> tuple[str, ...]:
    """The brokers that have registered, sorted; `Refused` for what is no answer."""
    told = body_of(body)
    if not isinstance(told.get("brokerAddrTable"), dict):
        raise _strange("a cluster without brokerAddrTable")
    return tuple(sorted(str(name) for name in mapping(told["brokerAddrTable"])))


@lru_cache(_QUEUES_REMEMBERED)
def queue(key: str) -> Queue | None:
    """A queue that is the key of an object (`loose_json`); None for any other key."""
    if not key.startswith(OBJECT_KEY):
        return None
    try:
        told = mapping(loads(key.removeprefix(OBJECT_KEY)))
    except ValueError:
        return None  # a text that only begins like one
    topic, broker, number = told.get("topic"), told.get("brokerName"), told.get("queueId")
    if isinstance(topic, str) and isinstance(broker, str) and isinstance(number, int):
        return Queue(topic, broker, number)
    return None


@lru_cache(_ROUTES_REMEMBERED)
def route(topic: str, body: bytes) -> TopicRoute:
    """A topic's route; `Refused` for what is none. Routes rarely change: the same bytes are read once."""
    told = body_of(body)
    for name in ("queueDatas", "brokerDatas"):
        if not isinstance(told.get(name), list):
            raise _strange(f"a route without {name}")
    queues: list[Queue] = []
    for data in objects(told["queueDatas"]):
        count = whole(data, "readQueueNums") if whole(data, "perm") & PERM_READ else 0
        if count > MOST_QUEUES:
            raise _strange(f"readQueueNums is {count}, expected at most {MOST_QUEUES}")
        queues += (Queue(topic, str(data.get("brokerName")), number) for number in range(count))
    brokers: dict[str, Address] = {}
    for data in objects(told["brokerDatas"]):
        addresses = mapping(data.get("brokerAddrs"))
        # The master keeps members and offsets; a replica answers where there is none.
        first = addresses.get(str(MASTER_ID)) or next((addresses[id] for id in sorted(addresses, key=str)), None)
        at = parsed(str(first)) if first is not None else None
        if at is not None:
            brokers[str(data.get("brokerName"))] = at
    return TopicRoute(sort_queues(queues), brokers)


def offsets(told: LooseObject) -> dict[Queue, tuple[int, int]]:
    """Queue to where the group has come to and where it ends. `Refused` for offsets that are no numbers."""
    found: dict[Queue, tuple[int, int]] = {}
    for key, about in mapping(told.get("offsetTable")).items():
        of, of_queue = queue(key), mapping(about)
        if of is not None:
            found[of] = whole(of_queue, "consumerOffset"), whole(of_queue, "brokerOffset")
    return found


def _strange(what: str) -> Refused:
    return Refused(f"an answer in another form than RocketMQ's: {what}")
