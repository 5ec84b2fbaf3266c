"""Which view a header line belongs to (headings decide, never their order, their widths or the file's name), and what
Kafka's tools print besides the tables of consumer groups: plain lists of names, ``kafka-topics --describe``, the tables
of share groups, those of streams groups (recognised, so that nobody takes them for others), notices and errors.
"""

import re
from collections.abc import Iterator

from compare.reading.kafka import members, offsets, share, states
from compare.reading.kafka.facts import Fact, GroupState, OtherGroup, ShareGroup, TopicQueues
from compare.reading.kafka.rows import Columns, columns_of, read_rows
from compare.reading.observed import Block, BlockKind, Command, RowError, Skipped, shortened, skipped

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


def _starts_topic(line: str) -> bool:
    return line.startswith("Topic:") and _TOPIC.match(line) is not None


def _parse_topic(block: Block) -> Iterator[TopicQueues | Skipped]:
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


TOPIC = BlockKind("kafka", "kafka-topics --describe", _starts_topic, _parse_topic)


_SHARE_OR_STREAMS = "share or streams"
_WHY = {
    "streams": "a streams group assigns tasks, not partitions, which the audit does not judge yet",
    _SHARE_OR_STREAMS: "this is the state view of a share group or of a streams group, and does not say which",
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
    if names & {"TARGET-ASSIGNMENT-EPOCH", "ASSIGNOR"}:
        return "streams"
    if "GROUP-EPOCH" in names or "ASSIGNMENT-EPOCH" in names:
        return "share"
    if command is not None and command.tool in _TOOLS:
        return _TOOLS[command.tool]
    return "streams" if columns.width("STATE") == _WIDTH_OF_STREAMS_STATE else _SHARE_OR_STREAMS


def read_others(block: Block, columns: Columns, tool: str) -> Iterator[OtherGroup | ShareGroup | Skipped]:
    """What is told of share groups; of others the groups' names, and why they are left out."""
    if tool == "share":
        yield from share.read_share(block, columns)
        return
    expected = "--state --verbose" if tool == _SHARE_OR_STREAMS else "output of kafka-consumer-groups"
    yield skipped(block, 0, f"{_WHY[tool]}, expected {expected}")
    at = columns.index("GROUP")
    if at is None:
        return
    rows = (columns.cells(line) for line in block.lines[1:])
    for group in dict.fromkeys(cells[at].rstrip(" ") for cells in rows if cells is not None):
        if group:
            yield OtherGroup(block.source.name, group)


REBALANCING = "rebalancing"
"""State of a group of which only a notice says that it is rebalancing; which of Kafka's states, it does not say."""

_EMPTY = re.compile(r"Consumer group '(.+)' has no active members\.\s*")
_OF_OTHER_GROUP = re.compile(
    r"(?:(?:No topology description is (?:stored|available)|The broker failed to fetch the topology description) for )?"
    r"([Ss]hare|[Ss]treams) group '(.+)'"
    r"(?: has no (?:active members|offset information)| \(status: .+\))?\.(?: See .+)?\s*"
)
"""What the tools of share and streams groups say instead of a table; the second sentences are those of 4.4."""
_REBALANCING = re.compile(r"Warning: Consumer group '(.+)' is rebalancing\.\s*")

_ERROR = re.compile(
    r"Error: |Error while executing |Exception in thread "
    r"|(?:org\.apache\.kafka|kafka|java|javax)\.[\w.$]+(?:Exception|Error)(?:: |\s*$)"
)
_PADDING = "  "
_OF_ROCKETMQ = "rocketmq"
_STACK = re.compile(r"\s+at |\s*\.\.\. [0-9]+ |Caused by: |\s*$")

_REMEDIES = (
    ("is not a consumer group", "ask kafka-share-groups or kafka-streams-groups for it"),
    ("is not a share group", "ask kafka-consumer-groups for it"),
    ("is not a streams group", "ask kafka-consumer-groups for it"),
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
    return any(each.fullmatch(line) is not None for each in (_EMPTY, _OF_OTHER_GROUP, _REBALANCING))


def _parse_notice(block: Block) -> Iterator[GroupState | OtherGroup | ShareGroup | Skipped]:
    source, line = block.source.name, block.lines[0]
    if empty := _EMPTY.fullmatch(line):
        yield GroupState(source, empty[1].rstrip(" "), "notice", "Empty")
    elif other := _OF_OTHER_GROUP.fullmatch(line):
        group, kind = other[2].rstrip(" "), other[1].lower()
        if kind == "share":
            if "has no active members" in line:
                yield ShareGroup(source, group, members=(), state="Empty")
            else:
                yield ShareGroup(source, group)
            yield from _strays(block)
            return
        yield OtherGroup(source, group)
        yield skipped(block, 0, f"{group!r} is a {kind} group, which the audit does not judge: give a consumer group")
    elif rebalancing := _REBALANCING.fullmatch(line):
        yield GroupState(source, rebalancing[1].rstrip(" "), "notice", REBALANCING)
    yield from _strays(block)


def _starts_error(line: str) -> bool:
    # A group may be called like an error; only its row in a table has padding.
    return _ERROR.match(line) is not None and _PADDING not in line and _OF_ROCKETMQ not in line


def _parse_error(block: Block) -> Iterator[Skipped]:
    line = block.lines[0].strip()
    remedy = next((text for mark, text in _REMEDIES if mark in line), "correct the command and give its output")
    shown = shortened(line, 200)
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


_FIRST_HEADINGS = ("GROUP ", "TOPIC ", "CONSUMER-ID ", "COORDINATOR ")

_HEADINGS = frozenset(
    (
        *("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID"),
        *("HOST", "CLIENT-ID", "GROUP-INSTANCE-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT"),
        *("TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED", "ASSIGNMENT", "MEMBER-EPOCH", "COORDINATOR (ID)"),
        *("ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"),
        *("TYPE", "PROTOCOL", "START-OFFSET", "OFFSET-LAG", "MEMBER", "PROCESS", "ASSIGNMENTS", "TOPOLOGY-EPOCH"),
        *("MEMBER-PROTOCOL", "ASSIGNOR"),
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
    return None if tool_of(columns, None) is None else "other"


def _starts_table(line: str) -> bool:
    # Most lines are rows: the cheapest test comes first.
    if not line.startswith(_FIRST_HEADINGS):
        return False
    columns = columns_of(line)
    return columns is not None and not any(map(_is_cut, columns.names)) and _view(columns) is not None


def _is_cut(heading: str) -> bool:
    """Whether it is the beginning of a heading, as where a terminal broke the line in its middle."""
    return heading not in _HEADINGS and any(each.startswith(heading) for each in _HEADINGS)


def _parse_table(block: Block) -> Iterator[Fact | Skipped]:
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
        tool = tool_of(columns, block.source.command) or "share"
        yield from read_others(block, columns, tool)


TABLE = BlockKind("kafka", "table of kafka-consumer-groups", _starts_table, _parse_table)
