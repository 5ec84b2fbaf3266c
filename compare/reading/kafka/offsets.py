"""The offsets view of kafka-consumer-groups: one row per queue that is owned or has a committed offset.

Members that own nothing have no row (very old tools print one with ``-`` for topic and partition).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compare.reading.kafka.facts import Client, OffsetsTable
from compare.reading.kafka.rows import (
    MISSING,
    Columns,
    client_id,
    group_of,
    is_consumer_id,
    is_host,
    name,
    number,
    read_rows,
    topic,
)
from compare.reading.observed import Block, RowError, Skipped, skipped
from protocols import Queue

NEEDED = frozenset({"TOPIC", "PARTITION", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"})

_NEXT_ROW = re.compile(r"\s[A-Za-z0-9._-]+ +[0-9]+ +(?:-|[0-9]+) +(?:-|[0-9]+) +(?:-|-?[0-9]+) ")
"""A topic, a partition and offsets behind a client id: the line feed between two rows got lost."""


class _Row(NamedTuple):
    group: str
    queue: Queue | None
    lag: int | None
    end: int | None
    committed: int | None
    consumer: str
    client: str
    host: str


@dataclass(slots=True)
class _Found:
    owned: dict[str, list[Queue]] = field(default_factory=dict)
    unowned: list[Queue] = field(default_factory=list)
    lag: dict[Queue, int | None] = field(default_factory=dict)
    ends: dict[Queue, int] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    endless: list[Queue] = field(default_factory=list)


def read_offsets(block: Block, columns: Columns) -> Iterator[OffsetsTable | Skipped]:
    """The tables of the block's groups (one, as the tool prints it)."""
    rows = read_rows(block, _reader(block, columns))
    yield from rows.skipped
    found: dict[str, _Found] = {}
    for _, row in rows.found:
        _add(found, row)
    if not found and not rows.skipped:
        yield skipped(block, 0, "header without rows, expected a row per partition below it")
    complete = not rows.found or rows.complete(rows.found[-1][1].group)
    if rows.found and _is_cut(found, rows.found[-1][1]):
        complete = False
        yield skipped(block, rows.found[-1][0], "ends in the middle of a client id: rows below it may be cut off")
    for group, each in found.items():
        owned = {consumer: tuple(queues) for consumer, queues in each.owned.items()}
        unowned = tuple(each.unowned)
        yield OffsetsTable(
            block.source.name, group, owned, unowned, each.lag, each.clients, complete, each.ends, tuple(each.endless)
        )


def _is_cut(found: Mapping[str, _Found], last: _Row) -> bool:
    """Whether the last row's client id is but the beginning of the one that the member's other rows have."""
    client = found[last.group].clients.get(last.consumer)
    shown = last.client.rstrip(" ")
    return client is not None and (client.client_id or "") != shown and (client.client_id or "").startswith(shown)


def _add(found: dict[str, _Found], row: _Row) -> None:
    of_group = found.get(row.group)
    if of_group is None:
        of_group = found[row.group] = _Found()
    queue = row.queue
    if queue is not None:
        of_group.lag[queue] = row.lag
        if row.lag is not None and row.end is not None:
            of_group.ends[queue] = row.end
        elif row.committed is not None and row.end is None and row.lag is None:
            of_group.endless.append(queue)
    if row.consumer == MISSING:
        if queue is not None:
            of_group.unowned.append(queue)
        return
    owned = of_group.owned.get(row.consumer)
    if owned is None:
        owned = of_group.owned[row.consumer] = []
        of_group.clients[row.consumer] = Client(client_id(row.client, row.consumer), row.host)
    if queue is not None:
        owned.append(queue)


def _reader(block: Block, columns: Columns) -> Callable[[str], _Row]:
    group_at = columns.index("GROUP")
    topic_at, partition_at, lag_at, consumer_at, host_at, client_at = (
        columns.names.index(text) for text in ("TOPIC", "PARTITION", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    )

    def told(cells: Sequence[str], heading: str) -> int | None:
        at = columns.index(heading)
        return None if at is None else number(cells[at], heading)

    def read(line: str) -> _Row:
        cells = columns.cells(line)
        if cells is None:
            raise RowError("expected a row under the header's columns")
        told(cells, "LEADER-EPOCH")
        committed, end = told(cells, "CURRENT-OFFSET"), told(cells, "LOG-END-OFFSET")
        lag = number(cells[lag_at], "LAG")
        partition = number(cells[partition_at], "PARTITION")
        consumer = name(cells[consumer_at], "CONSUMER-ID")
        host = name(cells[host_at], "HOST")
        client = cells[client_at]
        if " " in client and _NEXT_ROW.search(client):
            raise RowError("expected one row in a line")
        if not is_host(host):
            raise RowError("expected an address under HOST")
        if consumer != MISSING and not is_consumer_id(consumer, client.rstrip(" ")):
            raise RowError("expected a whole consumer id under CONSUMER-ID")
        if partition is not None and partition >= 0:
            queue = Queue(topic(cells[topic_at]), "", partition)
        elif partition is None and cells[topic_at].rstrip(" ") == MISSING and consumer != MISSING:
            queue = None
        else:
            raise RowError("expected a partition's number under PARTITION")
        # An offset reset below the committed one makes the difference negative: nothing is left to read.
        lag = None if lag is None else max(lag, 0)
        return _Row(group_of(cells, group_at, block.source), queue, lag, end, committed, consumer, client, host)

    return read
