"""``consumerConnection``, a group's connections and subscription, with the header of 4.9 and later or without; and
``consumerProgress`` without -g, one line per group.
"""

import re
from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, RowError, Skipped, skipped
from compare.reading.rocketmq.facts import Connection, Connections, GroupLine
from compare.reading.rocketmq.lines import (
    Columns,
    Lines,
    columns_of,
    group_of,
    number,
    own_retry_topic,
    starting,
    tool_name,
    values,
)

_NUMBERED = re.compile(r"\d{3,} {2}(?=\S)")
"""How the lines of versions before 4.9 begin."""

_ADDRESS = re.compile(r"\S*:\d{1,5}")
_CELLS = re.compile(r"\s\S*:\d{1,5}\s+\w+\s+\S")
"""What follows a client id: in one, it is another row."""
_BELOW = "Below is subscription:"
_SETTINGS = {"ConsumeType": "type", "MessageModel": "model", "ConsumeFromWhere": "from"}


def _starts(line: str) -> bool:
    if line.startswith("#ClientId"):
        return "#ClientAddr" in line
    return line.startswith("001  ") and len(line) < 4096 and _connection(line) is not None


def _parse(block: Block) -> Iterator[Connections | Skipped]:
    connections: list[Connection] = []
    topics: list[str] | None = None
    settings: dict[str, str] = {}
    lines = Lines(block)
    complete = True
    # Without a header the first line is a row.
    first = _connection(block.lines[0])
    if first is not None and not block.lines[0].startswith("#"):
        connections.append(first)
    for offset, line in lines:
        if values(line, settings, _SETTINGS):
            continue
        if line.startswith(_BELOW):
            topics = []
            # Versions before 4.9 print no line feed here.
            line = line.removeprefix(_BELOW)
            if not line.strip():
                continue
        if topics is not None and settings:
            lines.refuse(offset, line, "nothing after the settings")
        elif topics is not None:
            try:
                topics += _topic(line)
            except RowError as error:
                lines.refuse(offset, line, str(error))
        else:
            connection = _connection(line)
            if connection is None:
                complete = False
                lines.refuse(offset, line, "a row of #ClientId, #ClientAddr, #Language, #Version")
            else:
                connections.append(connection)
    yield from lines.skipped()
    header = block.lines[0].rstrip()
    if header.startswith("#") and not header.endswith("#Version"):
        complete = False
        yield skipped(block, 0, "expected the header to end with #Version, and the first row below it")
    if topics is None:
        complete = False
        yield skipped(block, 0, f"ends before {_BELOW!r}: connections may be cut off")
    elif len(settings) < len(_SETTINGS):
        expected = " and ".join(key for key, kept in _SETTINGS.items() if kept not in settings)
        yield skipped(block, 0, f"ends before {expected}: topics of the subscription may be cut off")
    if not connections:
        yield skipped(block, 0, "expected a line per connection below the header")
        return
    yield Connections(
        source=block.source,
        group=group_of(own_retry_topic(topics or ())),
        connections=tuple(connections),
        topics=None if topics is None or not settings else tuple(topics),
        broadcasting=None if "model" not in settings else settings["model"] == "BROADCASTING",
        complete=complete,
    )


def _connection(line: str) -> Connection | None:
    """Client ids may hold blanks, the three columns behind them do not."""
    numbered = _NUMBERED.match(line)
    cells = (line[numbered.end() :] if numbered else line).rsplit(None, 3)
    if len(cells) < 4 or not _ADDRESS.fullmatch(cells[1]) or _CELLS.search(cells[0]):
        return None
    return Connection(cells[0], cells[1])


def _topic(line: str) -> list[str]:
    if line.startswith("#Topic"):
        return []
    numbered = _NUMBERED.match(line)
    if numbered:
        line = line[numbered.end() :].removeprefix("Topic: ")
    cells = line.split(None, 1)
    if len(cells) < 2:
        raise RowError("a topic and its expression")
    return [tool_name(cells[0], "#Topic")]


CONNECTION = BlockKind("rocketmq", "consumerConnection", _starts, _parse)


_FEWEST = 4
"""#Count, #Version, #TPS, #Diff Total; #Type and #Model may be blank."""


def _parse_listing(block: Block) -> Iterator[GroupLine | Skipped]:
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


LISTING = BlockKind("rocketmq", "consumerProgress of all groups", starting("#Group", holding="#Count"), _parse_listing)
