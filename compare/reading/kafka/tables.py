"""Which view a header line belongs to. Headings decide, never their order, their widths or the file's name."""

from collections.abc import Iterator

from compare.reading.kafka import listings, members, offsets, states
from compare.reading.kafka.facts import Fact
from compare.reading.kafka.rows import Columns, columns_of
from compare.reading.observed import Block, BlockKind, Skipped

_FIRST_HEADINGS = ("GROUP ", "TOPIC ", "CONSUMER-ID ", "COORDINATOR ")

_HEADINGS = frozenset(
    (
        *("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID"),
        *("HOST", "CLIENT-ID", "GROUP-INSTANCE-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT"),
        *("TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED", "ASSIGNMENT", "MEMBER-EPOCH", "COORDINATOR (ID)"),
        *("ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"),
        *("TYPE", "PROTOCOL", "START-OFFSET", "OFFSET-LAG", "MEMBER", "PROCESS", "ASSIGNMENTS", "TOPOLOGY-EPOCH"),
        "MEMBER-PROTOCOL",
    )
)


def _view(columns: Columns) -> str | None:
    headings = set(columns.names)
    if headings >= offsets.NEEDED:
        return "offsets"
    if headings >= members.NEEDED:
        return "members"
    if headings >= states.STATE_NEEDED:
        return "state"
    if "GROUP" in headings and len(headings) > 1 and headings <= states.LIST_COLUMNS:
        return "list"
    return None if listings.tool_of(columns, None) is None else "other"


def _starts(line: str) -> bool:
    # Most lines are rows: the cheapest test comes first.
    if not line.startswith(_FIRST_HEADINGS):
        return False
    columns = columns_of(line)
    return columns is not None and not any(map(_is_cut, columns.names)) and _view(columns) is not None


def _is_cut(heading: str) -> bool:
    """Whether it is the beginning of a heading, as where a terminal broke the line in its middle."""
    return heading not in _HEADINGS and any(each.startswith(heading) for each in _HEADINGS)


def _parse(block: Block) -> Iterator[Fact | Skipped]:
    columns = columns_of(block.lines[0])
    view = None if columns is None else _view(columns)
    if columns is None or view is None:
        return
    if view == "offsets":
        yield from offsets.read_offsets(block, columns)
    elif view == "members" and not members.is_of_share_group(block, columns):
        yield from members.read_members(block, columns)
    elif view == "state":
        yield from states.read_states(block, columns)
    elif view == "list":
        yield from states.read_list(block, columns)
    else:
        tool = listings.tool_of(columns, block.source.command) or "share"
        yield from listings.read_others(block, columns, tool)


TABLE = BlockKind("kafka", "table of kafka-consumer-groups", _starts, _parse)
