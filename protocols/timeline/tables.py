"""Rows as Arrow tables and Parquet files; pyarrow is imported when it is needed."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from protocols.files import replaced
from protocols.timeline.rows import Row

if TYPE_CHECKING:
    import pyarrow as pa


def table(rows: Iterable[Row], columns: Mapping[str, type], run: str | None = None) -> "pa.Table":
    """Rows as a table with these columns (`rows.COLUMNS`, `rows.SNAPSHOT`): string, bigint, double and boolean.

    ``run``, if given, is the first column, so that many runs can lie in one table.
    """
    import pyarrow as pa

    arrow: Mapping[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    found = list(rows)
    by_column = list(zip(*found, strict=True)) or [()] * len(columns)
    arrays = {
        name: pa.array(values, arrow[kind]) for (name, kind), values in zip(columns.items(), by_column, strict=True)
    }
    if run is not None:
        arrays = {"run": pa.array([run] * len(found), pa.string()), **arrays}
    return pa.table(arrays)


def write_parquet(tables: Mapping[str, Iterable["pa.Table"]], folder: Path) -> list[Path]:
    """Write ``folder/NAME.parquet`` for every name, its tables (with equal columns) one below the other.

    All of them are written before the first takes its place: an interrupted run leaves the old ones. Returns the paths.
    Raises `OSError` where a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.parquet" for name in tables]
    try:
        with ExitStack() as beside:
            for path, parts in zip(paths, tables.values(), strict=True):
                pq.write_table(pa.concat_tables(parts), beside.enter_context(replaced(path)))
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return paths
