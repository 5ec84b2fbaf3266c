"""Where `fairness` reads from, and what is wrong with it before any job runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from compare.figures.parquet_files import ParquetFile, parquet_files
from compare.figures.shapes import KEYS, OWNERS, QUEUE_COLUMNS, kind_of
from compare.figures.spark.sessions import SparkError, first_line, session
from protocols.errors import UserError

Source: TypeAlias = DataFrame | str | PathLike[str]
"""A DataFrame, or the path of a Parquet file or folder."""


@dataclass(frozen=True, slots=True)
class Files:
    """Parquet files that tasks read without Spark, those of a table with the same columns, at least one each."""

    ownership: Sequence[ParquetFile]
    members: Sequence[ParquetFile]


def files_of(ownership: object, members: object) -> Files | None:
    """The files of two paths, or of DataFrames that are nothing but Parquet files; None where Spark has to read them: a
    DataFrame that has been worked on, a file system that Arrow does not reach, folders that stand for columns, columns
    that differ between files, types that Spark reads as others.

    Raises `UserError` for a source that is neither a DataFrame nor a path.
    """
    owned, listed = _parquet("ownership", ownership), _parquet("members", members)
    if not owned or not listed or not _alike(owned) or not _alike(listed):
        return None
    return Files(owned, listed)


def _parquet(what: str, source: object) -> list[ParquetFile] | None:
    if not isinstance(source, DataFrame):
        path = path_of(what, source)
        if "://" in path or path.startswith("file:") or _is_local_by_default():
            return parquet_files(path)
        return None
    files = []
    for path in _files_behind(source):
        found = parquet_files(path)
        if not found or not _has_schema_of(source, found[0].schema):
            return None
        files += found
    return files


def _files_behind(frame: DataFrame) -> Sequence[str]:
    """The addresses of all that the DataFrame consists of, where it is Parquet as it was read: without a column that
    is a folder's name, a filter or any other work, in a session of this process. Else none."""
    plan = getattr(frame, "_jdf", None) and frame._jdf.queryExecution().analyzed()
    if plan is None or plan.getClass().getSimpleName() != "LogicalRelation":
        return ()
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation" or not relation.partitionSchema().isEmpty():
        return ()
    is_parquet = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    return frame.inputFiles() if is_parquet else ()


def _has_schema_of(frame: DataFrame, schema: pa.Schema) -> bool:
    """Do the file's columns have the names and types of the DataFrame's, whose reader may have asked for others?"""
    try:
        return [(field.name, field.dataType) for field in frame.schema] == [
            (field.name, from_arrow_type(field.type)) for field in schema
        ]
    except PySparkException:
        return False


def session_of(*sources: object) -> SparkSession:
    """That of the first DataFrame, else `session`."""
    return next((source.sparkSession for source in sources if isinstance(source, DataFrame)), None) or session()


def _is_local_by_default() -> bool:
    """Does Spark take a path without a scheme for a local one?"""
    settings = session().sparkContext._jsc.hadoopConfiguration()
    return str(settings.get("fs.defaultFS") or "file:").startswith("file:")


def _alike(files: Sequence[ParquetFile]) -> bool:
    first = files[0].schema
    if not all(file.schema.equals(first) for file in files[1:]):
        return False
    names = [field for field in first if field.name in (*KEYS, *OWNERS)]
    return all(_is_read_alike(field.type) for field in names) and not any(
        kind_of(field.type) == "record" for field in first if field.name in QUEUE_COLUMNS
    )


def _is_read_alike(type: pa.DataType) -> bool:
    """Do Arrow and Spark read this as the same type?"""
    is_same = (pa.types.is_signed_integer, pa.types.is_date32, pa.types.is_boolean, pa.types.is_decimal128)
    return kind_of(type) in ("text", "record", "float") or any(holds(type) for holds in is_same)


def frames(ownership: Source, members: Source) -> tuple[DataFrame, DataFrame]:
    """Both as DataFrames of one session: that of the DataFrame where one is given, else `session`.

    Raises `UserError` for a path that cannot be read.
    """
    spark = session_of(ownership, members)

    def frame(what: str, source: Source) -> DataFrame:
        if isinstance(source, DataFrame):
            return source
        path = path_of(what, source)
        try:
            return spark.read.parquet(path)
        except SparkError as error:
            raise UserError(f"{what} {path} cannot be read as Parquet: {first_line(error)}") from None

    return frame("ownership", ownership), frame("members", members)


def path_of(what: str, source: object) -> str:
    """A source that is no DataFrame as a path; `UserError` if it is none."""
    if isinstance(source, str | PathLike):
        path = fspath(source)
        if isinstance(path, str) and path:
            return path
    raise UserError(f"{what} is {source!r:.60}, expected a Spark DataFrame or the path of Parquet files")


def named(name: str) -> Column:
    """The column of exactly this name, dots included."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def schema_of(frame: DataFrame) -> pa.Schema:
    """The schema in Arrow's types, those of columns of no interest included."""
    return pa.schema([(field.name, _arrow(field.dataType)) for field in frame.schema.fields])


def _arrow(type: object) -> pa.DataType:
    try:
        return to_arrow_type(type)
    except PySparkException:
        # A type that Arrow has not holds neither names nor numbers.
        return pa.list_(pa.null())
