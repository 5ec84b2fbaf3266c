"""Tables of kafka-share-groups and kafka-streams-groups: recognised, so that nobody takes them for consumer groups."""

from collections.abc import Iterator

from compare.reading.blocks import Block, Command, skipped
from compare.reading.kafka.columns import Columns
from compare.reading.kafka.facts import OtherGroup
from compare.reading.observed import Skipped

_SHARE_OR_STREAMS = "share or streams"
_WHY = {
    "share": "the members of a share group take records from the same partitions, so no partition has an owner to"
    " judge",
    "streams": "a streams group assigns tasks, not partitions, which the audit does not judge yet",
    _SHARE_OR_STREAMS: "this is the state view of a share or streams group, which the audit does not judge",
}


_STATE = frozenset({"COORDINATOR (ID)", "STATE", "#MEMBERS"})
_WIDTH_OF_STREAMS_STATE = 25
_TOOLS = {"kafka-share-groups": "share", "kafka-streams-groups": "streams"}


def tool_of(columns: Columns, command: Command | None) -> str | None:
    """Which tool prints the header, ``share`` or ``streams``, that no consumer tool prints; None for other headers.

    Both print the same short state view, of which some versions are told apart by a column's width, and otherwise the
    command line above it does.
    """
    names = set(columns.names)
    if "OFFSET-LAG" in names or {"MEMBER", "PROCESS", "CLIENT-ID"} <= names:
        return "streams"
    if {"TOPIC", "PARTITION", "START-OFFSET"} <= names:
        return "share"
    if not names >= _STATE or "ASSIGNMENT-STRATEGY" in names:
        return None
    if "TARGET-ASSIGNMENT-EPOCH" in names:
        return "streams"
    if "GROUP-EPOCH" in names or "ASSIGNMENT-EPOCH" in names:
        return "share"
    if command is not None and command.tool in _TOOLS:
        return _TOOLS[command.tool]
    return "streams" if columns.width("STATE") == _WIDTH_OF_STREAMS_STATE else _SHARE_OR_STREAMS


def read_others(block: Block, columns: Columns, tool: str) -> Iterator[OtherGroup | Skipped]:
    """The groups' names, and why they are left out."""
    yield skipped(block, 0, f"{_WHY[tool]}, expected output of kafka-consumer-groups")
    at = columns.index("GROUP")
    if at is None:
        return
    rows = (columns.cells(line) for line in block.lines[1:])
    for group in dict.fromkeys(cells[at].rstrip(" ") for cells in rows if cells is not None):
        if group:
            yield OtherGroup(block.source.name, group)
