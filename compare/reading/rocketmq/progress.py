"""``consumerProgress -g GROUP``, with ``-s true`` (#Client IP) or without, with ``-t`` or without, of any version; and
``brokerConsumeStats``, the offsets of all groups at one broker.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from compare.reading.observed import Block, BlockKind, RowError, Skipped, skipped
from compare.reading.rocketmq.facts import BrokerLag, Progress
from compare.reading.rocketmq.lines import (
    Columns,
    Lines,
    all_numbers,
    columns_of,
    group_of,
    number,
    own_retry_topic,
    tool_name,
)
from protocols import Queue

_TOTALS = ("Consume TPS:", "Consume Diff Total:", "Consume Inflight Total:", "Diff Total:")
_DIFF_TOTAL = re.compile(r"(?:Consume )?Diff Total: (-?\d{1,19})\s*")
_NOBODY = ("N/A", "NA")
_STATIC = "__syslo__"
_MOST_BLANKS = 5
"""In an address; if it holds more, it is the next row."""
_ROW_BEGINS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*\S")
"""The time ends a row."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _starts(line: str) -> bool:
    return line.startswith("#Topic") and "#Broker Offset" in line and "#Group" not in line


def _parse(block: Block) -> Iterator[Progress | Skipped]:
    reader = _reader(columns_of(block.lines[0], names=2))
    if reader is None:
        yield skipped(block, 0, "expected the columns #Topic, #Broker Name, #QID, ..., #Diff, ..., #LastTime")
        return
    lag: dict[Queue, int] = {}
    shown: dict[Queue, str | None] = {}
    lines = Lines(block)
    ended, complete, diffs = False, True, 0
    cut: list[Skipped] = []
    for offset, line in lines:
        if line.startswith(_TOTALS):
            ended = True
            total = _DIFF_TOTAL.fullmatch(line)
            if total is not None and int(total[1]) != diffs:
                why = f"the total is {total[1]}, but the rows above add up to {diffs}: rows are missing or were changed"
                complete = False
                cut += [] if lines.refused else [skipped(block, offset, why)]
            continue
        try:
            queue, diff, address = reader.row(line)
        except RowError as error:
            lines.refuse(offset, line, f"{error} or a total")
            complete = complete and ended
            continue
        # Two topics that are cut to one name look alike: their rows cannot be told apart.
        complete = complete and queue not in lag
        lag[queue] = diff
        diffs += diff
        shown[queue] = address
    yield from lines.skipped()
    if not lag and not ended:
        yield skipped(block, 0, "expected rows below the header")
        return
    if not ended:
        cut.append(skipped(block, 0, "ends before its totals, expected Consume TPS and Diff Total below the rows"))
    cut += (skipped(block, 0, why) for why in missing_numbers(lag))
    yield from cut
    topic_width, broker_width = reader.columns.widths
    retry = own_retry_topic({queue.topic for queue in lag})
    yield Progress(
        source=block.source,
        group=group_of(retry),
        group_cut=retry is not None and len(retry) >= topic_width,
        lag=lag,
        shown=None if reader.address_at is None else shown,
        topic_width=topic_width,
        broker_width=broker_width,
        complete=complete and not cut,
    )


def missing_numbers(queues: Iterable[Queue]) -> Iterator[str]:
    """Which queues have no row, one sentence for each topic of a broker: the tool shows all from 0 on or none.

    Only the brokers of static topics, which are none really, have some of a topic's queues.
    """
    numbers: dict[tuple[str, str], set[int]] = {}
    for queue in queues:
        numbers.setdefault((queue.topic, queue.broker), set()).add(queue.number)
    for (topic, broker), found in numbers.items():
        missing = max(found) + 1 - len(found)
        if missing > 0 and not broker.startswith(_STATIC):
            first = next(number for number in range(max(found)) if number not in found)
            more = f" and {missing - 1} more" if missing > 1 else ""
            yield f"rows of {topic} on {broker} go up to queue {max(found)}, queue {first}{more} is missing"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads rows under one header. Behind the names stand #QID and, at these positions, the address and #Diff;
    ``before_time`` columns stand before #LastTime, which is of two words, one, or none."""

    columns: Columns
    address_at: int | None
    diff_at: int
    before_time: int

    def row(self, line: str) -> tuple[Queue, int, str | None]:
        (topic, broker), cells = self.columns.split(line)
        before_time = self.before_time
        extra = len(cells) - _time_words(cells) - before_time
        if extra < 0 or (extra and self.address_at is None):
            raise RowError(f"a row of {len(self.columns.names)} columns")
        if extra > _MOST_BLANKS or _ROW_BEGINS.search(line) is not None:
            raise RowError("one row in a line")
        address = None
        numbers = cells[:before_time]
        if self.address_at is not None:
            # An address may hold blanks, if anyone sets it so.
            at = self.address_at
            address = cells[at] if not extra else " ".join(cells[at : at + extra + 1])
            numbers[at:] = cells[at + extra + 1 : before_time + extra]
            if address in _NOBODY:
                address = None
        diff_at = self.diff_at
        if not all_numbers(numbers):
            for cell in numbers:
                number(cell, "#QID, #Broker Offset, #Consumer Offset, #Diff, #Inflight")
        return Queue(tool_name(topic, "#Topic"), broker, int(numbers[0])), int(numbers[diff_at]), address


def _reader(columns: Columns) -> _Reader | None:
    diff_at = columns.index("Diff")
    address_at = columns.index("Client IP")
    if diff_at is None or columns.index("QID") != 0 or columns.names[-1] != "LastTime" or address_at == 0:
        return None
    if address_at is not None and address_at < diff_at:
        diff_at -= 1
    return _Reader(columns, address_at, diff_at, len(columns.names) - 3)


def _time_words(cells: list[str]) -> int:
    if len(cells) > 1 and _DAY.fullmatch(cells[-2]):
        return 2
    return 1 if cells and cells[-1] in _NOBODY else 0


PROGRESS = BlockKind("rocketmq", "consumerProgress", _starts, _parse)


def _starts_stats(line: str) -> bool:
    return line.startswith("#Topic") and "#Group" in line and "#Broker Offset" in line


def _parse_stats(block: Block) -> Iterator[BrokerLag | Skipped]:
    columns = columns_of(block.lines[0], names=3)
    diff_at = columns.index("Diff")
    if diff_at is None or columns.index("QID") != 0 or columns.names[:2] != ("Topic", "Group"):
        yield skipped(block, 0, "expected the columns #Topic, #Group, #Broker Name, #QID, ..., #Diff, #LastTime")
        return
    groups: dict[str, dict[Queue, int]] = {}
    lines = Lines(block)
    ended = False
    for offset, line in lines:
        if line.startswith("Diff Total:"):
            ended = True
            continue
        try:
            group, queue, diff = _row(columns, diff_at, line)
        except RowError as error:
            lines.refuse(offset, line, f"{error} or a total")
            continue
        groups.setdefault(group, {})[queue] = diff
    yield from lines.skipped()
    if not groups and not ended and not lines.refused:
        yield skipped(block, 0, "expected rows below the header")
    for group, lag in groups.items():
        yield BrokerLag(block.source, group, lag, columns.widths[0], columns.widths[2])


def _row(columns: Columns, diff_at: int, line: str) -> tuple[str, Queue, int]:
    (topic, group, broker), cells = columns.split(line)
    tool_name(topic, "#Topic")
    tool_name(group, "#Group")
    if len(cells) <= diff_at:
        raise RowError(f"a row of {len(columns.names)} columns")
    return group, Queue(topic, broker, number(cells[0], "#QID")), number(cells[diff_at], "#Diff")


BROKER_STATS = BlockKind("rocketmq", "brokerConsumeStats", _starts_stats, _parse_stats)
