"""`fairness` on Spark: it brings together what belongs to a group, and the kernel of every engine counts."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from compare.figures.coded import CodedRows, Layout, layout_of
from compare.figures.local import coded_fairness
from compare.figures.parts import pairs
from compare.figures.spark import snapshots
from compare.figures.spark.exchange import Coding, Finish, of_files, of_frames, texts_of_records
from compare.figures.spark.schemas import figures_schema
from compare.figures.spark.sessions import session
from compare.figures.spark.sources import Source, files_of, frames, named, schema_of


def fairness(
    ownership: Source,
    members: Source,
    *,
    weight: str | None = None,
    with_retry: bool = False,
    per_topic: bool = False,
) -> DataFrame:
    """The figures of every group, computed when an action asks for them.

    ``ownership``: one row per queue and owner with the columns ``run`` (optional), ``group``, ``topic``, ``broker``
    (optional), ``queue`` (or ``number``, ``partition``), ``owner`` (null: nobody's), ``weight`` (optional).
    ``members``: one row per member with ``run`` (if ownership has it), ``group``, ``member``. An owner is a member
    whether listed or not. ``weight`` names another column to weigh by; integers are exact, decimals are counted in
    millionths, null makes the figures of load null.

    Returns one row per group: ``run``, ``group``, counts (bigint) and the other figures (double, null where
    undefined). ``per_topic`` adds the column ``topic`` and one row per topic of a group; ``topic`` is null in the rows
    of whole groups. ``%RETRY%`` topics count only ``with_retry``.

    Paths are the fast way: tasks read Parquet themselves, two million rows and less in a single one, and files of a
    snapshot (`write_snapshot`) each by itself.

    Raises `UserError` here and now for what the schema shows: a path that cannot be read, a column that is missing or
    of another type (`figures.shapes`). What only rows show fails the job when an action runs it, in Spark's
    exception with one sentence that names column and group: null instead of a queue, a topic, a group or a run;
    numbers that are negative, NaN, or 2^62 and more; weights of one member that add up to as much; queues listed twice
    for one owner.
    """
    files = files_of(ownership, members)
    if files is not None:
        parts = pairs(files.ownership, files.members) if weight is None else None
        if parts is not None:
            return snapshots.fairness_of_parts(session(), parts, with_retry=with_retry, per_topic=per_topic)
        layout = layout_of(files.ownership[0].schema, files.members[0].schema, weight)
        return of_files(session(), files, Coding(layout, with_retry), *_figures(layout, per_topic))
    ownership, members = frames(ownership, members)
    owned_schema, listed_schema = schema_of(ownership), schema_of(members)
    layout = layout_of(owned_schema, listed_schema, weight, records=True)
    coding = Coding(layout, with_retry)
    queue = layout.columns.queue
    return of_frames(
        texts_of_records(ownership, coding.columns(owned_schema, False), queue),
        members.select(*(named(name) for name in coding.columns(listed_schema, True))),
        coding,
        *_figures(layout, per_topic),
    )


def _figures(layout: Layout, per_topic: bool) -> tuple[Finish, StructType]:
    """The last step of the tasks, and the schema of what it gives."""

    def finish(owned: Sequence[CodedRows], listed: Sequence[CodedRows]) -> Iterator[pa.RecordBatch]:
        yield from coded_fairness(owned, listed, layout, per_topic=per_topic).to_batches()

    keys = [(key, from_arrow_type(layout.types[key])) for key in layout.columns.keys]
    return finish, figures_schema(keys, per_topic)
