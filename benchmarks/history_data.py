"""A month of snapshots as `equipoise watch` leaves them: days at which groups change, others at which they rest."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from compare.measure.figures.definitions import COUNTS, LOADS
from compare.snapshots.columns import TOPIC_COUNTS, TOPIC_LOADS, snapshot_schema
from compare.snapshots.compacting import compact
from compare.snapshots.folder import day_of, write_snapshot_file

START = 1_795_305_600.0
"""2026-11-22 00:00:00 UTC."""
CLUSTER = "month"
_DAY_S = 86_400
_CHANGES = 0.02
"""Part of the groups that change from one poll to the next."""
_TOPICS = 3

Ints = npt.NDArray[np.int64]


def generate(folder: Path, groups: int = 5000, days: int = 30, every_s: float = 1200.0, seed: int = 1) -> int:
    """Write the snapshots of all polls and return their number of rows: ``groups`` times ``days * 86400 / every_s``.

    Groups have 1 to 12 members and 1 to 3 topics of 4 to 16 queues. Each poll, one group in 50 gets other loads:
    members come or leave and queues move, sometimes in several polls in a row. Owners are left out, as between changes.
    Days that are over are one file each.
    """
    draw = np.random.default_rng(seed)
    state = _State(draw, groups)
    polls = int(days * _DAY_S / every_s)
    for number in range(polls):
        table = state.poll(draw, START + number * every_s, every_s, number == 0)
        write_snapshot_file(folder, CLUSTER, START + number * every_s, table)
        if number and not number * every_s % _DAY_S:
            compact(folder, CLUSTER, day_of(START + number * every_s))
    return polls * groups


class _State:
    """The groups between two polls: loads of the members of each topic, as one array of groups x topics x members."""

    _MOST = 12

    def __init__(self, draw: np.random.Generator, groups: int) -> None:
        self.groups = groups
        self.members = draw.integers(1, self._MOST + 1, groups)
        self.topics = draw.integers(1, _TOPICS + 1, groups)
        self.queues = draw.integers(4, 17, (groups, _TOPICS)) * (np.arange(_TOPICS) < self.topics[:, None])
        self.tilt = draw.random(groups) ** 4
        self.loads = np.zeros((groups, _TOPICS, self._MOST), dtype=np.int64)
        self.restless = np.zeros(groups, dtype=bool)
        self.incarnation = np.zeros(groups, dtype=np.int64)
        self._share(draw, np.arange(groups))
        self.names = pa.array([f"group-{number:05d}" for number in range(groups)])
        self.strategies = pa.array(["range", "sticky", "uniform", None]).take(pa.array(draw.integers(0, 4, groups)))
        self.topic_names = pa.array(
            [f"topic-{number:05d}-{topic}" for number in range(groups) for topic in range(_TOPICS)]
        )

    def _share(self, draw: np.random.Generator, chosen: Ints) -> None:
        """Deal the queues of these groups out: evenly, more on the first members where the group is tilted."""
        at = np.arange(self._MOST)
        is_member = at < self.members[chosen][:, None]
        weight = np.where(is_member, 1.0 + self.tilt[chosen][:, None] * draw.random((len(chosen), self._MOST)) * 3, 0.0)
        share = weight / weight.sum(axis=1, keepdims=True)
        wanted = np.cumsum(self.queues[chosen][:, :, None] * share[:, None, :], axis=2)
        self.loads[chosen] = np.diff(np.rint(wanted).astype(np.int64), axis=2, prepend=0)

    def poll(self, draw: np.random.Generator, at: float, every_s: float, is_first: bool) -> pa.Table:
        """The next snapshot."""
        changing = (draw.random(self.groups) < _CHANGES) | (self.restless & (draw.random(self.groups) < 0.5))
        chosen = np.flatnonzero(changing) if not is_first else np.zeros(0, dtype=np.int64)
        self.restless = changing
        before, earlier = self.loads.sum(axis=1), self.members.copy()
        step = draw.integers(-1, 2, len(chosen))
        self.members[chosen] = np.clip(self.members[chosen] + step, 1, self._MOST)
        self._share(draw, chosen)
        moves = np.abs(self.loads.sum(axis=1) - before).sum(axis=1) // 2
        joined, left = self._names_of(self.members > earlier, 1), self._names_of(self.members < earlier, 0)
        self.incarnation[self.members > earlier] += 1
        return self._table(draw, at, every_s, None if is_first else moves, joined, left)

    def _names_of(self, which: npt.NDArray[np.bool_], offset: int) -> pa.Array:
        """One member's id for each of these groups, none for the others."""
        chosen = np.flatnonzero(which)
        ids = [f"member-{group}-{self.incarnation[group] + offset}" for group in chosen]
        return _lists(which.astype(np.int64), pa.array(ids, pa.string()))

    def _table(
        self, draw: np.random.Generator, at: float, every_s: float, moves: Ints | None, joined: pa.Array, left: pa.Array
    ) -> pa.Table:
        loads, members = self.loads.sum(axis=1), self.members
        is_member = np.arange(self._MOST) < members[:, None]
        figures = _figures(loads, is_member, members)
        queues = loads.sum(axis=1)
        fair = -(-queues // members)
        above = np.maximum(loads - fair[:, None], 0).sum(axis=1)
        lag = draw.integers(0, 1000, self.groups)
        count = self.groups
        columns: dict[str, pa.Array] = {
            "at": pa.array(np.full(count, round(at * 1000)), pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "every_s": pa.array(np.full(count, every_s)),
            "system": pa.array(["kafka"] * count),
            "group": self.names,
            "mode": pa.array(["shared"] * count),
            "kind": pa.array(["plain"] * count),
            "state": pa.array(["Stable"] * count),
            "strategy": self.strategies,
            "partial": pa.array(np.zeros(count, dtype=bool)),
            **{name: pa.array(figures[name]) for name in (*COUNTS, *LOADS)},
            "lag": pa.array(lag),
            "score": pa.array(
                100 - 25.0 * (1 - fair / np.maximum(loads.max(axis=1), 1)) - 25.0 * figures["idle_share"]
            ),
            "distance": pa.array(above),
            "optimum_max": pa.array(fair),
            "moves": pa.nulls(count, pa.int64()) if moves is None else pa.array(moves),
            "joined": pa.nulls(count, pa.list_(pa.string())) if moves is None else joined,
            "left": pa.nulls(count, pa.list_(pa.string())) if moves is None else left,
            "topics": self._topics(is_member, lag),
        }
        schema = snapshot_schema()
        columns["owners"] = pa.nulls(count, schema.field("owners").type)
        return pa.table([columns[name] for name in schema.names], schema=schema)

    def _topics(self, is_member: npt.NDArray[np.bool_], lag: Ints) -> pa.Array:
        there = np.arange(_TOPICS) < self.topics[:, None]
        flat = there.ravel()
        loads = self.loads.reshape(-1, self._MOST)[flat]
        members = np.repeat(self.members, self.topics)
        figures = _figures(loads, np.repeat(is_member, self.topics, axis=0), members)
        arrays = [
            self.topic_names.filter(pa.array(flat)),
            *(pa.array(figures[name]) for name in (*TOPIC_COUNTS, *TOPIC_LOADS)),
            pa.array(np.repeat(lag // self.topics, self.topics)),
        ]
        kind = snapshot_schema().field("topics").type.value_type
        return _lists(self.topics, pa.StructArray.from_arrays(arrays, fields=list(kind)))


def _lists(sizes: Ints, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32()), values)


def _figures(
    loads: Ints, is_member: npt.NDArray[np.bool_], members: Ints
) -> dict[str, npt.NDArray[np.int64] | npt.NDArray[np.float64]]:
    """Figures good enough to be counted: members are never doubly owned, pile_up is drawn from the spread."""
    total, squares = loads.sum(axis=1), (loads * loads).sum(axis=1)
    high = loads.max(axis=1)
    low = np.where(is_member, loads, 1 << 40).min(axis=1)
    idle = ((loads == 0) & is_member).sum(axis=1)
    mean = total / members
    some = np.maximum(total, 1)
    deviation = np.maximum(members * squares - total * total, 0)
    cv = np.sqrt(deviation) / some
    return {
        "members": members,
        "idle_members": idle,
        "queues": total,
        "unowned_queues": (total % 97 == 0).astype(np.int64),
        "double_owned_queues": np.zeros(len(total), dtype=np.int64),
        "min": low.astype(np.float64),
        "max": high.astype(np.float64),
        "mean": mean,
        "spread": (high - low).astype(np.float64),
        "idle_share": idle / members,
        "cv": cv,
        "jain": np.where(squares > 0, total * total / np.maximum(members * squares, 1), 1.0),
        "gini": cv / 2,
        "theil": cv * cv / 2,
        "max_over_mean": high * members / some,
        "pile_up": np.where(high - low > 1, np.minimum(cv, 1.0), 0.0),
    }
