"""The state view of kafka-consumer-groups, and the listings with state or type.

Before version 4 the state view's columns are not made wide enough for long group ids and coordinator addresses.
So its rows are read from the right, where no cell holds a blank, and from the coordinator's form.
"""

import re
from collections.abc import Iterator

from compare.reading.kafka.facts import GroupState, OtherGroup, ShareGroup
from compare.reading.kafka.rows import MISSING, Columns, group_of, number, read_rows
from compare.reading.observed import Block, RowError, Skipped, skipped

STATE_NEEDED = frozenset({"COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"})
LIST_COLUMNS = frozenset({"GROUP", "TYPE", "STATE", "PROTOCOL"})

_COORDINATOR = re.compile(r"(?<!\S)\S*:-?[0-9]+ {1,2}\([^\s()]*\)")
_WORD = re.compile(r"[A-Za-z]+")
_CONSUMER_TYPES = {"Consumer": True, "Classic": False}
_STREAMS = "Streams"
_TOOL_KINDS = {"kafka-share-groups": "Share", "kafka-streams-groups": _STREAMS}
_NO_PROTOCOL = ("", MISSING)
_CONSUMER = "consumer"


def read_states(block: Block, columns: Columns) -> Iterator[GroupState | Skipped]:
    """One fact per row of the state view."""
    after_strategy = columns.names[columns.names.index("ASSIGNMENT-STRATEGY") + 1 :]
    group_at = columns.index("GROUP")
    coordinator_at = columns.starts[columns.names.index("COORDINATOR (ID)")]

    def read(line: str) -> GroupState:
        left, *right = line.rsplit(None, len(after_strategy))
        values = dict(zip(after_strategy, right, strict=False))
        state = values.get("STATE", "")
        members = number(values.get("#MEMBERS", ""), "#MEMBERS")
        if members is None or not _WORD.fullmatch(state):
            raise RowError("expected a state and a number of members at the row's end")
        candidates = list(_COORDINATOR.finditer(left))
        if not candidates:
            raise RowError("expected host:port (id) under COORDINATOR (ID)")
        # A group id before it may look like a coordinator, a strategy behind it hardly.
        coordinator = candidates[-1]
        before = left[: coordinator.start()]
        if not columns.is_squeezed and not _fits(before, coordinator_at):
            raise RowError("expected a group's id and its padding before COORDINATOR (ID)")
        strategy = left[coordinator.end() :].strip(" ")
        told_epoch = values.get("GROUP-EPOCH")
        epoch = None if told_epoch is None else number(told_epoch, "GROUP-EPOCH")
        return GroupState(
            source=block.source.name,
            group=group_of([before], None if group_at is None else 0, block.source),
            view="state",
            state=state,
            strategy=None if strategy in ("", MISSING) else strategy,
            members=members,
            consumer_protocol=None if told_epoch is None else epoch is not None,
            coordinator=" ".join(coordinator[0].split()),
            epoch=epoch,
        )

    rows = read_rows(block, read)
    yield from rows.skipped
    yield from (row for _, row in rows.found)
    if not rows.found and not rows.skipped:
        yield skipped(block, 0, "header without rows, expected a row per group below it")


def _fits(before: str, width: int) -> bool:
    """Whether a row begins with one cell and no more: only a cell that is too long for its column moves the next."""
    units = len(before) if before.isascii() else len(before.encode("utf-16-le", "surrogatepass")) // 2
    return units == width or (units > width and not before[:-1].endswith(" "))


def read_list(block: Block, columns: Columns) -> Iterator[GroupState | OtherGroup | ShareGroup | Skipped]:
    """One fact per row of ``--list --state``, ``--list --type`` or ``kafka-groups --list``."""
    type_at, state_at, protocol_at = (columns.index(name) for name in ("TYPE", "STATE", "PROTOCOL"))

    def read(line: str) -> tuple[str, str, str | None, str]:
        cells = columns.cells(line)
        if cells is None:
            raise RowError("expected a row under the header's columns")
        kind, state, protocol = (
            None if at is None else cells[at].strip(" ") for at in (type_at, state_at, protocol_at)
        )
        if not all(each is None or _WORD.fullmatch(each) for each in (kind, state)):
            raise RowError("expected one word per column behind GROUP")
        return group_of(cells, 0, block.source), kind or "", state, protocol or ""

    # Three tools list groups with their state; only the command line tells which one it was.
    tool_kind = _TOOL_KINDS.get(block.source.command.tool) if block.source.command is not None else None
    rows = read_rows(block, read)
    yield from rows.skipped
    for offset, (group, kind, state, protocol) in rows.found:
        kind = kind or tool_kind or (_STREAMS if state == "NotReady" else "")
        if kind == "Share":
            yield ShareGroup(block.source.name, group, state=state)
        elif kind == _STREAMS or protocol not in (*_NO_PROTOCOL, _CONSUMER):
            yield OtherGroup(block.source.name, group)
            why = f"{group!r} is not a consumer group ({kind or protocol}), so no member owns partitions"
            if kind == _STREAMS:
                why = (
                    f"{group!r} is a streams group, which assigns tasks, not partitions; the audit does not judge"
                    " streams groups yet"
                )
            yield skipped(block, offset, why)
        else:
            told = _CONSUMER_TYPES.get(kind)
            # A group gets its protocol from its first member: one without has never had any, only committed offsets.
            only_offsets: bool | None = None
            if protocol == _CONSUMER:
                only_offsets = False
            elif protocol_at is not None and kind == "Classic" and not _is_cut(block, offset, columns):
                only_offsets = True
            yield GroupState(block.source.name, group, "list", state, consumer_protocol=told, only_offsets=only_offsets)
    if not rows.found and not rows.skipped:
        yield skipped(block, 0, "header without rows, expected a row per group below it")


def _is_cut(block: Block, offset: int, columns: Columns) -> bool:
    """Whether the text ends within the row, so that its last column may be lost: no line feed stands behind it."""
    is_last = block.first + offset == len(block.source.lines)
    return is_last and len(block.lines[offset]) <= columns.starts[-1]
