"""What the tools say besides tables: notices about a group's state, and errors."""

import re
from collections.abc import Iterator

from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.kafka.facts import GroupState, OtherGroup
from compare.reading.kafka.rows import RowError, read_rows
from compare.reading.observed import Skipped

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
