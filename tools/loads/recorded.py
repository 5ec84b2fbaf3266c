"""Snapshots of `equipoise watch` as a load: what came to each queue of a group between two polls.

`python -m tools.loads DIR GROUP CAPACITY` plays the contenders on such a folder. Between two polls records are taken to
come evenly. All members are taken to read all queues, as many as each poll saw, and to handle so many records per
second: snapshots tell neither subscriptions nor what members can handle.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from compare.snapshots import snapshot_files, superseded
from protocols import Queue, UserError, sort_queues
from tools.loads.families import Load

EXAMPLE = Path(__file__).parents[2] / "docs" / "load" / "recorded"
"""A group of four consumers of librdkafka that `equipoise serve` served, polled 200 times in 13 minutes; 300 records/s
had keys by Zipf's law (exponent 1.2, 300 keys), and after 200 s other keys were the hot ones."""


def recorded(folder: Path = EXAMPLE, group: str = "billing", capacity: float = 150.0) -> Load:
    """The load of the one group of this name. Raises `UserError` where the folder does not tell one."""
    polls = sorted(_polls(folder, group), key=lambda poll: poll[0])
    if len(polls) < 2:
        raise UserError(
            f"{folder}: {len(polls)} polls of group {group} with the ends of its queues, expected two or more (a"
            " folder of `equipoise watch`, of a version that keeps them)"
        )
    queues = sort_queues({queue for _, _, ends in polls for queue in ends})
    rates: list[tuple[float, ...]] = []
    there: list[int] = []
    for (at, _, before), (until, members, after) in pairwise(polls):
        came = tuple(_rate(before.get(queue), after.get(queue), until - at) for queue in queues)
        # The second in which a poll falls is of the time before it.
        seconds = round(until - polls[0][0]) - len(rates)
        rates += [came] * seconds
        there += [members] * seconds
    most = max(there)
    can = tuple(tuple(capacity if member < count else 0.0 for member in range(most)) for count in there)
    about = f"{len(polls)} polls of a served group with keys, whose hot ones change"
    return Load("recorded", about, tuple(rates), can, None)


def _rate(before: int | None, after: int | None, seconds: float) -> float:
    """Records per second; none where an end is not known, or the queue was made anew."""
    if before is None or after is None or after < before:
        return 0.0
    return (after - before) / seconds


def _polls(folder: Path, group: str) -> Iterator[tuple[float, int, Mapping[Queue, int]]]:
    """Second, number of members and ends of the queues of each poll that saw members."""
    files = list(snapshot_files(folder))
    left_out = superseded(files)
    for file in files:
        if file.path in left_out or "ends" not in pq.read_schema(file.path).names:
            continue
        table = pq.read_table(file.path, columns=["at", "group", "members", "ends"])
        at = table["at"].cast(pa.int64()).to_pylist()
        for moment, row in zip(at, table.drop_columns("at").to_pylist(), strict=True):
            if row["group"] == group and row["ends"] and row["members"]:
                yield moment / 1000, row["members"], _ends(row["ends"])


def _ends(told: list[Mapping[str, object]]) -> dict[Queue, int]:
    found = {}
    for each in told:
        offsets = each["offsets"]
        assert isinstance(offsets, list)
        for number, end in enumerate(offsets):
            if end is not None:
                found[Queue(str(each["topic"]), str(each["broker"]), number)] = int(end)
    return found
