"""Rows as Arrow tables and Parquet files; pyarrow is imported when it is needed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocols.timeline.rows import Row

if TYPE_CHECKING:
    import pyarrow as pa


def table(rows: Iterable[Row], columns: Mapping[str, type], run: str | None = None) -> "pa.Table":
    """Rows as a table with these columns (`rows.COLUMNS`, `rows.SNAPSHOT`): string, bigint, double and boolean.

    ``run``, if given, is the first column, so that many runs can lie in one table.
    """
    import pyarrow as pa

    arrow: Mapping[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
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

    Returns the paths. Raises `OSError` where a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, parts in tables.items():
        paths.append(folder / f"{name}.parquet")
        pq.write_table(pa.concat_tables(parts), paths[-1])
    return paths
