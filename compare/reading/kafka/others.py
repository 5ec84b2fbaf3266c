"""Tables of kafka-share-groups and kafka-streams-groups: recognised, so that nobody takes them for consumer groups."""

from collections.abc import Iterator

from compare.reading.blocks import Block, skipped
from compare.reading.kafka.columns import Columns
from compare.reading.kafka.facts import OtherGroup
from compare.reading.observed import Skipped

_WHY = {
    "share": "a share group's members take records of the same partitions: none has an owner that could be judged",
    "streams": "a streams group hands out tasks, not partitions, which are not judged yet",
}


def of_share_tool(columns: Columns) -> bool:
    """Whether the header is one of kafka-share-groups' that no consumer tool prints."""
    return {"TOPIC", "PARTITION", "START-OFFSET"} <= set(columns.names) or (
        "COORDINATOR (ID)" in columns and "ASSIGNMENT-STRATEGY" not in columns and "#MEMBERS" in columns
    )


def of_streams_tool(columns: Columns) -> bool:
    """Whether the header is one of kafka-streams-groups' that no other tool prints."""
    return "OFFSET-LAG" in columns or {"MEMBER", "PROCESS", "CLIENT-ID"} <= set(columns.names)


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
