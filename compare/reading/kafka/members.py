"""The members view of kafka-consumer-groups: one row per member, idle ones too.

The verbose form tells what each member owns now (CURRENT-ASSIGNMENT, before version 4 ASSIGNMENT) and, in the
consumer protocol, what it is to own (TARGET-ASSIGNMENT); the short form only how many queues, and so does the verbose
one of the versions that leave the topics out. A member that owns something else than it is to own, or whose epoch is
not that of the target assignment, is on its way there; where one is, Kafka calls the group Reconciling.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from compare.reading.kafka.facts import MembersTable
from compare.reading.kafka.rows import (
    Columns,
    client_id,
    count_without_topics,
    group_of,
    has_colon_form,
    is_consumer_id,
    is_host,
    name,
    number,
    read_assignment,
    read_rows,
    speaks_consumer_protocol,
)
from compare.reading.observed import Block, ObservedMember, RowError, Skipped, skipped
from protocols import Queue

NEEDED = frozenset({"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"})

_UPGRADED = ("true", "false", "-", "")


class _Row(NamedTuple):
    group: str
    member: ObservedMember
    targets: tuple[Queue, ...]
    epoch: int | None
    moves: bool | None
    upgraded: str


def read_members(block: Block, columns: Columns) -> Iterator[MembersTable | Skipped]:
    """The tables of the block's groups (one, as the tool prints it).

    An empty group has a header only, which does not name it. In the output about many groups that is nothing
    to mend; alone it is skipped unless NAME=FILE names the group.
    """
    rows = read_rows(block, _reader(block, columns))
    yield from rows.skipped
    by_group: dict[str, list[_Row]] = {}
    for _, row in rows.found:
        by_group.setdefault(row.group, []).append(row)
    if not by_group and not rows.skipped:
        if block.source.told_group:
            by_group[block.source.told_group] = []
        elif _is_alone(block):
            why = "header without rows: a group without members, which this view does not name, expected NAME=FILE"
            yield skipped(block, 0, why)
    complete = not rows.found or rows.complete(rows.found[-1][1].group)
    for group, of_group in by_group.items():
        yield _table(block.source.name, group, of_group, columns, complete)


def _is_alone(block: Block) -> bool:
    """Whether the source holds little but this block."""
    return block.first <= 2 and block.first + len(block.lines) > len(block.source.lines)


def _table(source: str, group: str, rows: list[_Row], columns: Columns, complete: bool) -> MembersTable:
    if "CURRENT-EPOCH" in columns:
        told = [row.epoch is not None for row in rows]
    else:
        told = [each for row in rows if (each := speaks_consumer_protocol(row.member.id)) is not None]
    moving = tuple(row.member.id for row in rows if row.moves)
    all_told = complete and any(row.moves is not None for row in rows)
    return MembersTable(
        source=source,
        group=group,
        members=tuple(row.member for row in rows),
        assigned=_assignment_column(columns) is not None and all(row.member.owned is not None for row in rows),
        targets=tuple(dict.fromkeys(queue for row in rows for queue in row.targets)),
        consumer_protocol=any(told) if told else None,
        complete=complete,
        moving=moving if moving or all_told else None,
        classic=tuple(row.member.id for row in rows if row.upgraded == "false"),
        upgraded=tuple(row.member.id for row in rows if row.upgraded == "true"),
    )


def _assignment_column(columns: Columns) -> str | None:
    return next((name for name in ("CURRENT-ASSIGNMENT", "ASSIGNMENT") if name in columns), None)


def is_of_share_group(block: Block, columns: Columns) -> bool:
    """Whether the members view is that of kafka-share-groups.

    It has the headings of the consumer tool before version 4, but a narrower #PARTITIONS and the newer
    text of assignments.
    """
    if "MEMBER-EPOCH" in columns:
        return True
    at = columns.index("ASSIGNMENT")
    if at is None:
        return False
    if columns.width("#PARTITIONS") == len("MEMBER-EPOCH"):
        return True
    return any(cells is not None and has_colon_form(cells[at]) for cells in map(columns.cells, block.lines[1:]))


def _reader(block: Block, columns: Columns) -> Callable[[str], _Row]:
    group_at, instance_at = columns.index("GROUP"), columns.index("GROUP-INSTANCE-ID")
    consumer_at, host_at, client_at, count_at = (
        columns.names.index(text) for text in ("CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
    )
    assignment = _assignment_column(columns)
    assignment_at = None if assignment is None else columns.names.index(assignment)
    target_at, target_epoch_at = columns.index("TARGET-ASSIGNMENT"), columns.index("TARGET-EPOCH")
    epoch_at, upgraded_at = columns.index("CURRENT-EPOCH"), columns.index("UPGRADED")

    def read(line: str) -> _Row:
        cells = columns.cells(line)
        if cells is None:
            raise RowError("expected a row under the header's columns")
        consumer = name(cells[consumer_at], "CONSUMER-ID")
        host = name(cells[host_at], "HOST")
        count = number(cells[count_at], "#PARTITIONS")
        if count is None or count < 0 or not is_host(host):
            raise RowError("expected a number under #PARTITIONS and an address under HOST")
        instance_cell = "" if instance_at is None else cells[instance_at]
        instance = client_id(instance_cell, consumer) if instance_cell.strip(" ") else None
        client = client_id(cells[client_at], consumer) if instance is None else cells[client_at].rstrip(" ") or None
        if not is_consumer_id(consumer, instance or cells[client_at].rstrip(" ")):
            raise RowError("expected a whole consumer id under CONSUMER-ID")
        upgraded = "" if upgraded_at is None else cells[upgraded_at].strip(" ")
        if upgraded not in _UPGRADED:
            raise RowError("expected true, false or - under UPGRADED")
        owned: tuple[Queue, ...] | None = () if count == 0 else None
        if assignment is not None and assignment_at is not None:
            listed = count_without_topics(cells[assignment_at])
            if listed is None:
                owned = read_assignment(cells[assignment_at], assignment)
                listed = len(owned)
            if listed != count:
                raise RowError(f"expected {count} partitions under {assignment} as #PARTITIONS says, not {listed}")
        member = ObservedMember(
            id=consumer,
            owned=owned,
            client_id=client,
            instance_id=instance,
            host=host,
            queue_count=count if owned is None else None,
        )
        targets = () if target_at is None else read_assignment(cells[target_at], "TARGET-ASSIGNMENT")
        epoch = None if epoch_at is None else number(cells[epoch_at], "CURRENT-EPOCH")
        target_epoch = None if target_epoch_at is None else number(cells[target_epoch_at], "TARGET-EPOCH")
        # Members of the classic protocol have neither epochs nor a target.
        moves: bool | None = None
        if epoch is not None and target_epoch is not None:
            moves = epoch != target_epoch or (owned is not None and set(owned) != set(targets))
        return _Row(group_of(cells, group_at, block.source), member, targets, epoch, moves, upgraded)

    return read
