"""``consumerProgress -g GROUP``, with ``-s true`` (#Client IP) or without, with ``-t`` or without, of any version."""

import re
from collections.abc import Iterator

from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.observed import Skipped
from compare.reading.rocketmq.columns import Columns, columns_of
from compare.reading.rocketmq.facts import Progress
from compare.reading.rocketmq.lines import Lines, RowError, number
from compare.reading.rocketmq.retry import group_of, own_retry_topic
from protocols import Queue

_TOTALS = ("Consume TPS:", "Consume Diff Total:", "Consume Inflight Total:", "Diff Total:")
_DIFF_TOTAL = re.compile(r"(?:Consume )?Diff Total: (-?\d{1,19})\s*")
_NOBODY = ("N/A", "NA")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _starts(line: str) -> bool:
    return line.startswith("#Topic") and "#Broker Offset" in line and "#Group" not in line


def _parse(block: Block) -> Iterator[Progress | Skipped]:
    columns = columns_of(block.lines[0], names=2)
    if columns.index("Diff") is None or columns.index("QID") != 0 or columns.names[-1] != "LastTime":
        yield skipped(block, 0, "expected the columns #Topic, #Broker Name, #QID, ..., #Diff, ..., #LastTime")
        return
    lag: dict[Queue, int] = {}
    shown: dict[Queue, str | None] = {}
    lines = Lines(block)
    ended, complete = False, True
    for offset, line in lines:
        if line.startswith(_TOTALS):
            ended = True
            total = _DIFF_TOTAL.fullmatch(line)
            # Rows are missing where the total is another one.
            complete = complete and (total is None or int(total[1]) == sum(lag.values()))
            continue
        try:
            queue, diff, address = _row(columns, line)
        except RowError as error:
            lines.refuse(offset, line, f"{error} or a total")
            complete = complete and ended
            continue
        # Two topics that are cut to one name look alike: their rows cannot be told apart.
        complete = complete and queue not in lag
        lag[queue] = diff
        shown[queue] = address
    yield from lines.skipped()
    if not lag and not ended:
        yield skipped(block, 0, "expected rows below the header")
        return
    retry = own_retry_topic({queue.topic for queue in lag})
    yield Progress(
        source=block.source,
        group=group_of(retry),
        group_cut=retry is not None and len(retry) >= columns.width(0),
        lag=lag,
        shown=None if columns.index("Client IP") is None else shown,
        topic_width=columns.width(0),
        broker_width=columns.width(1),
        complete=complete,
    )


def _row(columns: Columns, line: str) -> tuple[Queue, int, str | None]:
    (topic, broker), cells = columns.split(line)
    address_at = columns.index("Client IP")
    before_time = len(columns.names) - 3
    extra = len(cells) - _time_words(cells) - before_time
    if extra < 0 or (extra and address_at is None):
        raise RowError(f"a row of {len(columns.names)} columns")
    address = None
    if address_at is not None:
        # An address may hold blanks, if anyone sets it so.
        address = " ".join(cells[address_at : address_at + extra + 1])
        cells[address_at : address_at + extra + 1] = [address]
        if address in _NOBODY:
            address = None
    diff = 0
    for name, cell in zip(columns.names[2:-1], cells, strict=False):
        if name != "Client IP":
            value = number(cell, f"#{name}")
            if name == "Diff":
                diff = value
    return Queue(topic, broker, number(cells[0], "#QID")), diff, address


def _time_words(cells: list[str]) -> int:
    if not cells:
        return 0
    if len(cells) > 1 and _DAY.fullmatch(cells[-2]):
        return 2
    return 1 if cells[-1] in _NOBODY else 0


PROGRESS = BlockKind("rocketmq", "consumerProgress", _starts, _parse)
