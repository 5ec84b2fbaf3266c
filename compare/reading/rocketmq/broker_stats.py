"""``brokerConsumeStats``: the offsets of all groups at one broker."""

from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, Skipped, skipped
from compare.reading.rocketmq.facts import BrokerLag
from compare.reading.rocketmq.lines import Columns, Lines, RowError, columns_of, number, tool_name
from protocols import Queue


def _starts(line: str) -> bool:
    return line.startswith("#Topic") and "#Group" in line and "#Broker Offset" in line


def _parse(block: Block) -> Iterator[BrokerLag | Skipped]:
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


BROKER_STATS = BlockKind("rocketmq", "brokerConsumeStats", _starts, _parse)
