"""Queues of topics: ``topicRoute`` as JSON and, with ``-l``, as a table, and the preview of ``allocateMQ``."""

import re
from collections.abc import Iterable, Iterator

from compare.json_types import Json
from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.observed import Skipped
from compare.reading.rocketmq.facts import Route
from compare.reading.rocketmq.json_text import read_json
from compare.reading.rocketmq.lines import Lines, RowError, is_noise, number, quoted, starting
from compare.reading.rocketmq.names import topic_name
from protocols import Queue, sort_queues
from rocketmq_selfbalance.codes import PERM_READ

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
        for each in listed if isinstance(listed, list) else [None]:
            topic, broker, n = (
                (each.get("topic"), each.get("brokerName"), each.get("queueId"))
                if isinstance(each, dict)
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
