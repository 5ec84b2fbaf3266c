"""``consumerProgress -g GROUP``, with ``-s true`` (#Client IP) or without, with ``-t`` or without, of any version."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.observed import Skipped
from compare.reading.rocketmq.columns import Columns, columns_of
from compare.reading.rocketmq.facts import Progress
from compare.reading.rocketmq.lines import Lines, RowError, all_numbers, number
from compare.reading.rocketmq.retry import group_of, own_retry_topic
from protocols import Queue

_TOTALS = ("Consume TPS:", "Consume Diff Total:", "Consume Inflight Total:", "Diff Total:")
_DIFF_TOTAL = re.compile(r"(?:Consume )?Diff Total: (-?\d{1,19})\s*")
_NOBODY = ("N/A", "NA")
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
    for offset, line in lines:
        if line.startswith(_TOTALS):
            ended = True
            total = _DIFF_TOTAL.fullmatch(line)
            # Rows are missing where the total is another one.
            complete = complete and (total is None or int(total[1]) == diffs)
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
        complete=complete,
    )


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
        return Queue(topic, broker, int(numbers[0])), int(numbers[diff_at]), address


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
