"""``consumerProgress`` without -g: one line per group."""

from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, Skipped, skipped
from compare.reading.rocketmq.facts import GroupLine
from compare.reading.rocketmq.lines import Columns, Lines, RowError, columns_of, number, starting, tool_name

_FEWEST = 4
"""#Count, #Version, #TPS, #Diff Total; #Type and #Model may be blank."""


def _parse(block: Block) -> Iterator[GroupLine | Skipped]:
    columns = columns_of(block.lines[0], names=1)
    lines = Lines(block)
    found = False
    for offset, line in lines:
        try:
            fact = _row(block, columns, line)
        except RowError as error:
            lines.refuse(offset, line, str(error))
            continue
        found = True
        yield fact
    yield from lines.skipped()
    if not found and not lines.refused:
        yield skipped(block, 0, "expected a line per group below the header")


def _row(block: Block, columns: Columns, line: str) -> GroupLine:
    (group,), cells = columns.split(line)
    tool_name(group, "#Group")
    if not _FEWEST <= len(cells) <= len(columns.names) - 1:
        raise RowError(f"a row of {len(columns.names)} columns")
    count = number(cells[0], "#Count")
    number(cells[-1], "#Diff Total")
    words = cells[2:-2]
    return GroupLine(
        source=block.source,
        group=group,
        group_cut=len(group) >= columns.widths[0],
        count=max(count, 0),
        # Blank for members that pull.
        broadcasting=True if "BROADCASTING" in words else False if "CLUSTERING" in words else None,
    )


LISTING = BlockKind("rocketmq", "consumerProgress of all groups", starting("#Group", holding="#Count"), _parse)
