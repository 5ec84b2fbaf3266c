"""The views of kafka-share-groups: offsets, members and state of share groups; and the groups that they make together.

Members of a share group own nothing: an assignment is a permission to take records of a partition, and several may have
the same one. What says how a group is served is its lag: since 4.2 the records that have not ended, which wait or which
a member has (no view tells which). The start offset is what the persister was told last, which may be long ago: a
partition of which every record has ended may show 0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from compare.reading.kafka import members
from compare.reading.kafka.facts import MembersTable, ShareGroup, TopicQueues
from compare.reading.kafka.rows import Columns, group_of, number, read_rows, topic
from compare.reading.observed import Block, ObservedGroup, ObservedMember, RowError, Skipped, most_lag, skipped
from protocols import Queue, sort_queues
from protocols.timeline.trace import queue_names

T = TypeVar("T")

OFFSETS: Final = frozenset({"TOPIC", "PARTITION", "START-OFFSET"})


def read_share(block: Block, columns: Columns) -> Iterator[ShareGroup | Skipped]:
    """The facts of one view: a record for each group in it."""
    if frozenset(columns.names) >= OFFSETS:
        yield from _offsets(block, columns)
    elif frozenset(columns.names) >= members.NEEDED:
        yield from _members(block, columns)
    else:
        yield from _states(block, columns)


def _offsets(block: Block, columns: Columns) -> Iterator[ShareGroup | Skipped]:
    group_at, lag_at = columns.index("GROUP"), columns.index("LAG")
    topic_at, partition_at, start_at = (columns.names.index(text) for text in ("TOPIC", "PARTITION", "START-OFFSET"))

    def read(line: str) -> tuple[str, Queue, int | None, int | None]:
        cells = columns.cells(line)
        if cells is None:
            raise RowError("expected a row under the header's columns")
        partition = number(cells[partition_at], "PARTITION")
        if partition is None or partition < 0:
            raise RowError("expected a partition's number under PARTITION")
        queue = Queue(topic(cells[topic_at]), "", partition)
        lag = None if lag_at is None else number(cells[lag_at], "LAG")
        return group_of(cells, group_at, block.source), queue, number(cells[start_at], "START-OFFSET"), lag

    rows = read_rows(block, read)
    yield from rows.skipped
    starts: dict[str, dict[Queue, int | None]] = {}
    lags: dict[str, dict[Queue, int | None]] = {}
    for _, (group, queue, start, lag) in rows.found:
        starts.setdefault(group, {})[queue] = start
        lags.setdefault(group, {})[queue] = lag
    if not rows.found and not rows.skipped:
        yield skipped(block, 0, "header without rows, expected a row per partition below it")
    complete = not rows.found or rows.complete(rows.found[-1][1][0])
    for group, of_group in starts.items():
        yield ShareGroup(block.source.name, group, starts=of_group, lag=lags[group], complete=complete)


def _members(block: Block, columns: Columns) -> Iterator[ShareGroup | Skipped]:
    """The table has the form of the consumer tool's, and is read as that."""
    for fact in members.read_members(block, columns):
        if isinstance(fact, MembersTable):
            count = len(fact.members) if fact.complete else None
            yield ShareGroup(fact.source, fact.group, members=fact.members, count=count, complete=fact.complete)
        else:
            yield fact


def _states(block: Block, columns: Columns) -> Iterator[ShareGroup | Skipped]:
    group_at, epoch_at = columns.index("GROUP"), columns.index("GROUP-EPOCH")
    coordinator_at, state_at, count_at = (
        columns.names.index(text) for text in ("COORDINATOR (ID)", "STATE", "#MEMBERS")
    )

    def read(line: str) -> ShareGroup:
        cells = columns.cells(line)
        if cells is None:
            raise RowError("expected a row under the header's columns")
        state, count = cells[state_at].strip(" "), number(cells[count_at], "#MEMBERS")
        if count is None or not state.isalpha():
            raise RowError("expected a state and a number of members")
        return ShareGroup(
            block.source.name,
            group_of(cells, group_at, block.source),
            state=state,
            count=count,
            coordinator=" ".join(cells[coordinator_at].split()),
            epoch=None if epoch_at is None else number(cells[epoch_at], "GROUP-EPOCH"),
        )

    rows = read_rows(block, read)
    yield from rows.skipped
    yield from (row for _, row in rows.found)


def observed_share(name: str, facts: Sequence[ShareGroup], topics: Mapping[str, TopicQueues]) -> ObservedGroup:
    """The share group of which these views tell; nobody owns anything in it."""
    tables = [fact for fact in facts if fact.members is not None]
    table = next((fact for fact in reversed(tables) if fact.complete), tables[-1] if tables else None)
    shown = [fact for fact in facts if fact.starts]
    offsets = next((fact for fact in reversed(shown) if fact.complete), shown[-1] if shown else None)
    state, coordinator = _last(facts, lambda fact: fact.state), _last(facts, lambda fact: fact.coordinator)
    count, epoch = _last(facts, lambda fact: fact.count), _last(facts, lambda fact: fact.epoch)
    there = () if table is None else table.members or ()
    if table is None and (count == 0 or state in ("Empty", "Dead")):
        there, table = (), ShareGroup("", name, members=())
    permitted = {queue for member in there for queue in member.owned or ()}
    of_topics = {queue.topic for queue in permitted} | {queue.topic for queue in (offsets.starts if offsets else ())}
    known = {Queue(each.topic, "", at) for each in topics.values() if each.topic in of_topics for at in each.numbers}
    queues = sort_queues(known | permitted | set(offsets.starts if offsets else ()))
    known_members = tuple(ObservedMember(each.id, None, each.client_id, each.instance_id, each.host) for each in there)
    is_whole = table is not None and table.complete and count in (None, len(there))
    return ObservedGroup(
        system="kafka",
        name=name,
        mode="share",
        state=state,
        strategy=None,
        members=known_members if is_whole else None,
        queues=queues or None,
        lag={} if offsets is None else dict(offsets.lag),
        sources=tuple(dict.fromkeys(fact.source for fact in facts)),
        notes=tuple(_notes(offsets, there, queues)),
        seen=() if is_whole else known_members,
        member_count=None if is_whole else count,
        coordinator=coordinator,
        epoch=epoch,
    )


def _last(facts: Sequence[ShareGroup], told: Callable[[ShareGroup], T | None]) -> T | None:
    return next((value for fact in reversed(facts) if (value := told(fact)) is not None), None)


def _notes(offsets: ShareGroup | None, there: Sequence[ObservedMember], queues: Sequence[Queue]) -> Iterator[str]:
    """What is unfair in a share group: where its lag is, and partitions of which nobody may take records."""
    if there and all(member.owned is not None for member in there):
        lonely = set(queues) - {queue for member in there for queue in member.owned or ()}
        if lonely:
            yield f"no member may take records of {queue_names(lonely, 'partition')}"
    if offsets is None:
        return
    worst = most_lag(offsets.lag, "records that have not ended")
    if worst is not None:
        yield worst
    untouched = [queue for queue, start in offsets.starts.items() if start is None]
    if untouched:
        yield f"nobody has taken a record of {queue_names(untouched, 'partition')}: the lag there is unknown"
