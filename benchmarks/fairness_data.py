"""Ownership of many groups as Parquet, rows in random order."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 107
_GROUPS_AT_ONCE = 100_000
_FILES_AT_ONCE = 8
_QUEUES = (4, 8, 16, 32, 64, 90)
_MEMBERS_OF_ONE_GROUP = 1000

SHAPES = ("usual", "unique", "one-group")
"""Few names and weights of 1; member names that no other group has, and random weights; one group that has all rows."""


def generate(folder: Path, rows: int, shape: str = "usual") -> int:
    """Write ``ownership`` and ``members`` below the folder and return the number of rows of ownership; ``shape`` is one
    of `SHAPES`.

    Groups have 1 to 20 members and 1 to 5 topics of 4 to 90 queues on two brokers, each queue a random owner; one in a
    hundred has none, one in a thousand two.
    """
    draw = np.random.default_rng(1)
    for name in ("ownership", "members"):
        (folder / name).mkdir(parents=True)
    if shape == "one-group":
        queues = np.full(2, rows // 2)
        return _write(folder, draw, 0, np.array([_MEMBERS_OF_ONE_GROUP]), np.array([2]), queues, is_unique=False)
    groups, written = max(1, rows // ROWS_PER_GROUP), 0
    for first in range(0, groups, _GROUPS_AT_ONCE):
        size = min(_GROUPS_AT_ONCE, groups - first)
        members, topics = draw.integers(1, 21, size), draw.integers(1, 6, size)
        queues = draw.choice(_QUEUES, int(topics.sum()))
        written += _write(folder, draw, first, members, topics, queues, is_unique=shape == "unique")
    return written


def _write(
    folder: Path,
    draw: np.random.Generator,
    first: int,
    members: np.ndarray,
    topics: np.ndarray,
    queues: np.ndarray,
    *,
    is_unique: bool,
) -> int:
    group, topic = _spread(topics)
    of_topic, number = _spread(queues)
    group, topic = group[of_topic], topic[of_topic]
    owner = (draw.random(len(group)) * members[group]).astype(np.int64)
    owner[draw.random(len(group)) < 0.01] = -1
    twice = np.flatnonzero((draw.random(len(group)) < 0.001) & (owner >= 0) & (members[group] > 1))
    group, topic, number = (np.append(values, values[twice]) for values in (group, topic, number))
    owner = np.append(owner, (owner[twice] + 1) % members[group[twice]])
    weight = draw.integers(0, 1000, len(group)) if is_unique else np.ones(len(group), dtype=np.int64)
    of_group = np.cumsum(members) - members if is_unique else np.zeros(len(members), dtype=np.int64)
    for at, chosen in enumerate(np.array_split(draw.permutation(len(group)), _FILES_AT_ONCE)):
        table = pa.table(
            {
                **_names(first + group[chosen]),
                "topic": _texts("topic", topic[chosen]),
                "broker": _texts("broker", number[chosen] % 2),
                "queue": pa.array(number[chosen] // 2, pa.int32()),
                "owner": _texts(
                    f"member-{first}" if is_unique else "member",
                    np.where(owner < 0, -1, of_group[group] + owner)[chosen],
                ),
                "weight": pa.array(weight[chosen]),
            }
        )
        pq.write_table(table, folder / "ownership" / f"{first + at}.parquet")
    home, member = _spread(members)
    order = draw.permutation(len(home))
    names = _texts(f"member-{first}" if is_unique else "member", (of_group[home] + member)[order])
    listed = pa.table({**_names(first + home[order]), "member": names})
    pq.write_table(listed, folder / "members" / f"{first}.parquet")
    return len(group)


def _spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every one of ``sizes[i]`` things its i, and its position among them."""
    whose = np.repeat(np.arange(len(sizes)), sizes)
    return whose, np.arange(len(whose)) - (np.cumsum(sizes) - sizes)[whose]


def _names(group: np.ndarray) -> dict[str, pa.Array]:
    return {"run": pa.array(group // 10), "group": _texts("group", group % 10)}


def _texts(word: str, numbers: np.ndarray) -> pa.Array:
    names = pa.array([f"{word}-{number}" for number in range(int(numbers.max(initial=0)) + 1)])
    return names.take(pa.array(numbers, mask=numbers < 0))
