"""Queues of topics: ``topicRoute`` as JSON and, with ``-l``, as a table, and the preview of ``allocateMQ``.

Find the queues of a topic in the cluster that a group belongs to.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple

from compare.json_types import Json
from compare.reading.observed import Block, BlockKind, RowError, Skipped, folder_of, quoted, skipped
from compare.reading.rocketmq.facts import NoRoute, Route
from compare.reading.rocketmq.lines import Lines, is_noise, number, read_json, starting, topic_name
from protocols import Queue, sort_queues
from rocketmq_selfbalance.cluster import PERM_READ

MOST_QUEUES = 1 << 16
"""Of a topic at one broker; a text that tells of more is damaged."""

_DASHES = "-----"
_TOTAL = re.compile(r"Total:\s+(\d{1,9})\s+(\d{1,9})\s+\d{1,9}")


def _starts_json(line: str) -> bool:
    return line.startswith("{") and (line.rstrip() == "{" or line.startswith('{"'))


def _parse_json(block: Block) -> Iterator[Route | Skipped]:
    lines = ["" if is_noise(line) else line for line in block.lines]
    try:
        value, after = read_json(lines)
    except ValueError as error:
        yield skipped(block, 0, f"expected the JSON of topicRoute or allocateMQ: {error}")
        return
    try:
        if not isinstance(value, dict):
            raise RowError("an object")
        if isinstance(listed := value.get("queueDatas"), list):
            yield from _route(block, value, listed)
        elif isinstance(result := value.get("result"), dict):
            yield from _preview(block, result)
        elif "subString" in value:
            return  # A part of what queryCq prints; its first line says so.
        else:
            raise RowError("brokerDatas and queueDatas, or result")
    except RowError as error:
        yield skipped(block, 0, f"JSON of an unknown view, expected the JSON of topicRoute or allocateMQ with {error}")
    rest = next((offset for offset in range(after, len(lines)) if lines[offset].strip()), None)
    if rest is not None:
        yield skipped(block, rest, f"expected nothing after the JSON, found {quoted(lines[rest])}")


def _route(block: Block, route: dict[str, Json], listed: list[Json]) -> Iterator[Route | Skipped]:
    if route.get("topicQueueMappingByBroker"):
        yield skipped(
            block, 0, "the route of a static topic does not show its logical queues, expected consumerProgress"
        )
        return
    readable: list[tuple[str, int]] = []
    for data in listed:
        broker, count, permissions = (
            (data.get("brokerName"), data.get("readQueueNums"), data.get("perm"))
            if isinstance(data, dict)
            else (None, None, None)
        )
        if not isinstance(broker, str) or not isinstance(count, int) or not isinstance(permissions, int):
            raise RowError("brokerName, readQueueNums and perm in queueDatas")
        readable.append((broker, count if permissions & PERM_READ else 0))
    yield from _of_counts(block, readable)


def _of_counts(block: Block, readable: Iterable[tuple[str, int]]) -> Iterator[Route | Skipped]:
    topic = topic_name(block.source)
    if topic is None:
        yield skipped(
            block, 0, "topicRoute does not name its topic, expected TOPIC=FILE or a file named after the topic"
        )
        return
    counts = dict(readable)
    if not all(0 <= count <= MOST_QUEUES for count in counts.values()):
        raise RowError(f"at most {MOST_QUEUES} queues on a broker")
    queues = (Queue(topic, broker, n) for broker, count in counts.items() for n in range(count))
    yield Route(block.source, topic, sort_queues(queues), preview=False)


def _preview(block: Block, result: dict[str, Json]) -> Iterator[Route]:
    """Who owns a queue in the preview is nobody's business: it is dealt out to whatever addresses were given, in an
    order that consumers do not use (spec rocketmq 9.3)."""
    topics: dict[str, set[Queue]] = {}
    for listed in result.values():
        for json in listed if isinstance(listed, list) else [None]:
            topic, broker, n = (
                (json.get("topic"), json.get("brokerName"), json.get("queueId"))
                if isinstance(json, dict)
                else (None, None, None)
            )
            if not isinstance(topic, str) or not isinstance(broker, str) or not isinstance(n, int):
                raise RowError("topic, brokerName and queueId in result")
            topics.setdefault(topic, set()).add(Queue(topic, broker, n))
    if not topics:
        raise RowError("at least one queue in result")
    for topic, queues in topics.items():
        yield Route(block.source, topic, sort_queues(queues), preview=True)


def _parse_table(block: Block) -> Iterator[Route | Skipped]:
    readable: list[tuple[str, int, bool]] = []
    lines = Lines(block)
    ended = False
    total: re.Match[str] | None = None
    for offset, line in lines:
        if line.startswith((_DASHES, "Total:")):
            ended = True
            total = _TOTAL.fullmatch(line.rstrip()) or total
            continue
        try:
            readable.append(_row(line))
        except RowError as error:
            lines.refuse(offset, line, str(error))
    yield from lines.skipped()
    if not readable or (lines.refused and not ended):
        yield skipped(block, 0, "expected a row per broker and a total below the header")
        return
    queues = sum(count for _, count, _ in readable)
    if total is None or (int(total[1]), int(total[2])) != (len(readable), queues):
        told = "no total" if total is None else f"a total of {total[1]} brokers and {total[2]} queues to read"
        why = f"{told} below rows of {len(readable)} brokers and {queues} queues: rows are missing, so none is used"
        yield skipped(block, 0, why)
        return
    try:
        yield from _of_counts(block, [(broker, count if permitted else 0) for broker, count, permitted in readable])
    except RowError as error:
        yield skipped(block, 0, f"expected {error}")


def _row(line: str) -> tuple[str, int, bool]:
    """Broker, its queues to read, and whether it lets anyone read them."""
    # The addresses, {0=host:port, 1=host:port}, hold blanks; before them stand cluster and broker.
    names, _, rest = line.partition("{")
    cells = rest.rpartition("}")[2].split()
    words = names.split()
    if line.count("{") != 1 or len(words) < 2 or len(cells) != 3:
        raise RowError("#ClusterName, #BrokerName, #BrokerAddrs, #ReadQueue, #WriteQueue, #Perm")
    count = number(cells[0], "#ReadQueue")
    return words[-1], count, bool(number(cells[2], "#Perm") & PERM_READ)


ROUTE = BlockKind("rocketmq", "topicRoute or allocateMQ", _starts_json, _parse_json)
ROUTE_TABLE = BlockKind("rocketmq", "topicRoute -l", starting("#ClusterName", holding="#ReadQueue"), _parse_table)


class _Told(NamedTuple):
    """A route, and the folders whose sources tell it."""

    route: Route
    folders: dict[str, None]


class Routes:
    """All routes that the sources tell of."""

    def __init__(self, routes: Iterable[Route | NoRoute]) -> None:
        self._by_topic: dict[str, dict[tuple[bool, tuple[Queue, ...]], _Told]] = {}
        self._unknown: set[str] = set()
        for route in routes:
            if isinstance(route, NoRoute):
                self._unknown.add(route.topic)
                continue
            same = self._by_topic.setdefault(route.topic, {})
            told = same.setdefault((route.preview, route.queues), _Told(route, {}))
            told.folders[folder_of(route.source.name)] = None

    @property
    def topics(self) -> Iterable[str]:
        """The topics that have a route."""
        return self._by_topic

    def is_missing(self, topic: str) -> bool:
        """Whether a name server says that there is no such topic, and no source tells a route of it."""
        return topic in self._unknown and topic not in self._by_topic

    @property
    def brokers(self) -> set[str]:
        """All brokers that the routes name."""
        return {queue.broker for same in self._by_topic.values() for _, queues in same for queue in queues}

    def near(self, topic: str, places: Sequence[str]) -> Route | None:
        """The topic's route for a group whose sources are in the folders ``places``.

        Where several differ, another cluster's is the one farther away; previews come last. None if that is open.
        """
        found = list(self._by_topic.get(topic, {}).values())
        found = [told for told in found if not told.route.preview] or found
        if len(found) > 1:
            closeness = [_closeness(places, told.folders) for told in found]
            nearest = max(closeness)
            found = [told for told, near in zip(found, closeness, strict=True) if near == nearest]
        return found[0].route if len(found) == 1 else None


def _closeness(places: Iterable[str], folders: Iterable[str]) -> int:
    """How many folders from the root on two of them share."""
    return max(_shared(_parts(place), _parts(folder)) for place in dict.fromkeys(places) for folder in folders)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@lru_cache(maxsize=4096)
def _parts(folder: str) -> tuple[str, ...]:
    return PurePath(folder).parts
