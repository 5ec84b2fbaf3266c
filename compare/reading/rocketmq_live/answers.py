"""What servers and clients answer, as values: JSON bodies, of which nothing is believed before it was looked at."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from compare.reading.rocketmq.route import MOST_QUEUES
from compare.reading.rocketmq_live.address import Address, parsed
from compare.reading.rocketmq_live.client import Refused
from compare.reading.rocketmq_live.loose_json import OBJECT_KEY, LooseJson, LooseObject, loads
from protocols import Queue, sort_queues
from rocketmq_selfbalance.codes import MASTER_ID, PERM_READ

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


def lag(told: LooseObject) -> dict[Queue, int]:
    """Queue to the records that are still to be consumed. `Refused` for offsets that are no numbers."""
    found: dict[Queue, int] = {}
    for key, about in mapping(told.get("offsetTable")).items():
        of, offsets = queue(key), mapping(about)
        if of is not None:
            found[of] = whole(offsets, "brokerOffset") - whole(offsets, "consumerOffset")
    return found


def _strange(what: str) -> Refused:
    return Refused(f"an answer in another form than RocketMQ's: {what}")
