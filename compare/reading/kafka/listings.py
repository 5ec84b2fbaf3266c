"""Text without a header: the plain lists of names that Kafka's tools print.

``kafka-topics --describe``: a line per topic, below it one per partition.

Tables of kafka-share-groups and kafka-streams-groups: recognised, so that nobody takes them for consumer groups.

What the tools say besides tables: notices about a group's state, and errors.
"""

import re
from collections.abc import Iterator

from compare.reading.kafka.facts import GroupState, OtherGroup, TopicQueues
from compare.reading.kafka.rows import Columns, RowError, read_rows
from compare.reading.observed import Block, BlockKind, Command, Skipped, skipped

_NAME = re.compile(r"[^\s{}\[\]<>=|\"]+(?: [^\s{}\[\]<>=|\"]+)*")
_LONGEST = 300
_MOST_LOOKED_AT = 1000


def explain(block: Block) -> Skipped | None:
    """Why a text that no `BlockKind` knows tells nothing, if it looks like a plain list; else None.

    A list of groups cannot be told from one of topics, so that not even the names are used.
    """
    lines = [line.rstrip() for line in block.lines[:_MOST_LOOKED_AT] if line.strip()]
    looks_like_names = all(len(line) <= _LONGEST and _NAME.fullmatch(line) for line in lines)
    with_blanks = sum(" " in line for line in lines)
    if not looks_like_names or with_blanks * 2 > len(lines) or len(set(lines)) != len(lines):
        return None
    return skipped(
        block,
        0,
        "looks like a plain list of names, as --list prints it: which shows no members, expected --describe"
        " --all-groups or --list --state",
    )


_TOPIC = re.compile(r"Topic: ?([a-zA-Z0-9._-]+)\s+(?:TopicId: ?\S+\s+)?PartitionCount: ?([0-9]{1,10})(?!\S)")
_CONFIGS = re.compile(r"\sConfigs:[ \t]*(\S*)")
_POLICY = re.compile(r"(?:^|,)cleanup\.policy=([a-z,]*)(?:,[^,=]+=|$)")
_PARTITION = re.compile(r"\s*Topic: ?([a-zA-Z0-9._-]+)\s+Partition: ?([0-9]{1,10})\s+Leader: ?")

_MOST_PARTITIONS = 1 << 20


def _starts(line: str) -> bool:
    return line.startswith("Topic:") and _TOPIC.match(line) is not None


def _parse(block: Block) -> Iterator[TopicQueues | Skipped]:
    header = _TOPIC.match(block.lines[0])
    if header is None:
        return
    topic, count = header[1], int(header[2])

    def read(line: str) -> int:
        found = _PARTITION.match(line)
        if found is None or found[1] != topic:
            raise RowError(f"expected a partition of topic {topic}")
        return int(found[2])

    rows = read_rows(block, read)
    yield from rows.skipped
    numbers = sorted({number for _, number in rows.found})
    if len(numbers) != count:
        yield skipped(block, 0, f"expected {count} partitions of topic {topic} below it, found {len(numbers)}")
    if numbers and numbers[-1] < count <= _MOST_PARTITIONS:
        # A topic has all numbers from 0 on; the first line says how many, whatever became of the others.
        numbers = list(range(count))
    if numbers:
        yield TopicQueues(block.source.name, topic, tuple(numbers), _is_compacted(block.lines[0]))


def _is_compacted(header: str) -> bool:
    """Whether the settings in the topic's line say so; a policy that is the brokers' default may be missing there."""
    configs = _CONFIGS.search(header)
    policy = None if configs is None else _POLICY.search(configs[1])
    return policy is not None and "compact" in policy[1].split(",")


TOPIC = BlockKind("kafka", "kafka-topics --describe", _starts, _parse)


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


REBALANCING = "rebalancing"
"""State of a group of which only a notice says that it is rebalancing; which of Kafka's states, it does not say."""

_EMPTY = re.compile(r"(Consumer|Share|Streams) group '(.+)' has no active members\.\s*")
_REBALANCING = re.compile(r"Warning: Consumer group '(.+)' is rebalancing\.\s*")

_ERROR = re.compile(
    r"Error: |Error while executing |Exception in thread "
    r"|(?:org\.apache\.kafka|kafka|java|javax)\.[\w.$]+(?:Exception|Error)(?:: |\s*$)"
)
_PADDING = "  "
_OF_ROCKETMQ = "rocketmq"
_STACK = re.compile(r"\s+at |\s*\.\.\. [0-9]+ |Caused by: |\s*$")
_MOST_QUOTED = 200

_REMEDIES = (
    ("is not a consumer group", "the audit does not judge share and streams groups"),
    ("does not exist", "look up the group's name with --list"),
    ("not found", "look up the group's name with --list"),
    (
        "UnknownTopicOrPartition",
        "a group has an offset or a partition of a deleted topic; --members --verbose and --state do not need it",
    ),
    ("Authoriz", "the user needs the right to describe groups and topics"),
    ("Timeout", "no broker answered: check --bootstrap-server and --command-config"),
    ("timed out", "no broker answered: check --bootstrap-server and --command-config"),
    ("Failed to find brokers", "no broker answered: check --bootstrap-server and --command-config"),
)


def _starts_notice(line: str) -> bool:
    return _EMPTY.fullmatch(line) is not None or _REBALANCING.fullmatch(line) is not None


def _parse_notice(block: Block) -> Iterator[GroupState | OtherGroup | Skipped]:
    source, line = block.source.name, block.lines[0]
    if empty := _EMPTY.fullmatch(line):
        group = empty[2].rstrip(" ")
        if empty[1] == "Consumer":
            yield GroupState(source, group, "notice", "Empty")
        else:
            yield OtherGroup(source, group)
            yield skipped(block, 0, f"{group!r} is a {empty[1].lower()} group, expected a consumer group")
    elif rebalancing := _REBALANCING.fullmatch(line):
        yield GroupState(source, rebalancing[1].rstrip(" "), "notice", REBALANCING)
    yield from _strays(block)


def _starts_error(line: str) -> bool:
    # A group may be called like an error; only its row in a table has padding.
    return _ERROR.match(line) is not None and _PADDING not in line and _OF_ROCKETMQ not in line


def _parse_error(block: Block) -> Iterator[Skipped]:
    line = block.lines[0].strip()
    remedy = next((text for mark, text in _REMEDIES if mark in line), "correct the command and give its output")
    shown = line if len(line) <= _MOST_QUOTED else line[: _MOST_QUOTED - 3] + "..."
    yield skipped(block, 0, f"the tool printed an error, expected a view of groups or topics: {shown} ({remedy})")
    yield from _strays(block)


def _strays(block: Block) -> list[Skipped]:
    """Lines below a message that belong to no stack trace and to no table."""

    def read(line: str) -> None:
        if _STACK.match(line) is None:
            raise RowError("expected the header line of a table before its rows")

    return read_rows(block, read).skipped


NOTICE = BlockKind("kafka", "notice of kafka-consumer-groups", _starts_notice, _parse_notice)
ERROR = BlockKind("kafka", "error of a Kafka tool", _starts_error, _parse_error)
