"""A share-partition as its golden traces write it down."""

from collections.abc import Mapping

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import get
from compare.json_types import Json
from kafka_coordinator.share import Entry, Kept, Persisted, SharePartition


def shown_share(share: SharePartition, kept: Kept, tells_more: bool) -> dict[str, Json]:
    """The share-partition and what its persister keeps; ``tells_more``: as recordings since 4.2 do."""
    gap = share.gap
    state: dict[str, Json] = {
        "partition_state": share.phase.value,
        "start_offset": share.start,
        "end_offset": share.end,
        "find_next_fetch_offset": share.seek,
        "read_gap": None if gap is None else [gap.end, gap.next],
        "batches": [
            {
                "first": batch.first,
                "last": batch.last,
                "offsets": [[n, *_entry(each)] for n, _, each in batch.pieces()],
            }
            if batch.split
            else {"first": batch.first, "last": batch.last, "batch": _entry(batch.entries[0])}
            for batch in share.batches
        ],
        "persisted": {
            "start_offset": kept.start_offset,
            "state_epoch": kept.state_epoch,
            "batches": [shown_state(each) for each in kept.batches],
        },
    }
    if tells_more:
        state["delivery_complete_count"] = share.complete_count
    return state


def _entry(entry: Entry) -> list[Json]:
    due = None if entry.lock is None else entry.lock.due
    return [entry.state.value, entry.deliveries, entry.owner, due, entry.before is not None]


def shown_state(batch: Persisted) -> list[Json]:
    return [batch.first, batch.last, batch.state.value, batch.deliveries]


def ranges_of(record: Mapping[str, Json], name: str) -> list[tuple[int, int]]:
    """Batches of the log."""
    found: list[tuple[int, int]] = []
    for given in get(record, name, list):
        match given:
            case [int(first), int(last)] if first <= last:
                found.append((first, last))
            case _:
                raise MalformedCase(name, "[first, last]", given)
    return found
