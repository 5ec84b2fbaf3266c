"""The columns of a snapshot: one row for each group that a poll found. docs/watch.md explains them.

`VERSION` grows where a column changes its meaning or type. A new column does not change it: readers take columns by
name, and files that lack one read as null there.
"""

from typing import TYPE_CHECKING

from compare.figures.definitions import COUNTS, LOADS

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = "1"
VERSION_KEY = b"equipoise.snapshot"
"""Name of the entry in a file's metadata that holds the version."""

TOPIC_COUNTS = ("queues", "idle_members", "unowned_queues", "double_owned_queues")
TOPIC_LOADS = ("min", "max", "mean", "jain", "max_over_mean")
"""Figures of a topic that a snapshot keeps."""


def snapshot_schema() -> "pa.Schema":
    """Names and types; everything but ``at``, ``every_s``, ``system``, ``group``, ``mode`` and ``partial`` may be
    null. Cluster and day are no columns: they are the names of the folders (``day=.../cluster=...``)."""
    import pyarrow as pa

    texts = pa.list_(pa.string())
    topic = pa.struct(
        [
            ("topic", pa.string()),
            *((name, pa.int64()) for name in TOPIC_COUNTS),
            *((name, pa.float64()) for name in TOPIC_LOADS),
            ("lag", pa.int64()),
        ]
    )
    queue = pa.struct([("topic", pa.string()), ("broker", pa.string()), ("number", pa.int32())])
    owner = pa.struct([("member", pa.string()), ("queues", pa.list_(queue))])
    return pa.schema(
        [
            ("at", pa.timestamp("ms", "UTC")),
            ("every_s", pa.float64()),
            *((name, pa.string()) for name in ("system", "group", "mode", "kind", "state", "strategy")),
            ("partial", pa.bool_()),
            *((name, pa.int64()) for name in COUNTS),
            *((name, pa.float64()) for name in LOADS),
            ("lag", pa.int64()),
            ("score", pa.float64()),
            ("distance", pa.int64()),
            ("optimum_max", pa.int64()),
            ("moves", pa.int64()),
            ("joined", texts),
            ("left", texts),
            ("topics", pa.list_(topic)),
            ("owners", pa.list_(owner)),
        ],
        metadata={VERSION_KEY: VERSION.encode()},
    )
