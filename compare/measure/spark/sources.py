"""Where `fairness` reads from, and what is wrong with it before any job runs."""

from os import PathLike, fspath
from typing import TypeAlias

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type

from compare.measure.figures.shapes import Columns, columns_of
from compare.measure.spark.failures import first_line
from compare.measure.spark.sessions import session
from protocols.errors import UserError

Source: TypeAlias = DataFrame | str | PathLike[str]
"""A DataFrame, or the path of a Parquet file or folder."""


def frames(ownership: Source, members: Source) -> tuple[DataFrame, DataFrame]:
    """Both as DataFrames of one session: that of the DataFrame where one is given, else `session`.

    Raises `UserError` for a path that cannot be read.
    """
    there = next((each.sparkSession for each in (ownership, members) if isinstance(each, DataFrame)), None)

    def frame(what: str, source: Source) -> DataFrame:
        if isinstance(source, DataFrame):
            return source
        path = path_of(what, source)
        try:
            return (there or session()).read.parquet(path)
        except (PySparkException, Py4JError) as error:
            raise UserError(f"{what} {path} cannot be read as Parquet: {first_line(error)}") from None

    return frame("ownership", ownership), frame("members", members)


def path_of(what: str, source: object) -> str:
    """A source that is no DataFrame as a path; `UserError` if it is none."""
    if isinstance(source, str | PathLike):
        path = fspath(source)
        if isinstance(path, str) and path:
            return path
    raise UserError(f"{what} is {source!r:.60}, expected a Spark DataFrame or the path of Parquet files")


def columns_of_frames(ownership: DataFrame, members: DataFrame, weight: str | None) -> Columns:
    """As `columns_of`."""
    return columns_of(schema_of(ownership), schema_of(members), weight, records=True)


def schema_of(frame: DataFrame) -> pa.Schema:
    """The schema in Arrow's types, those of columns of no interest included."""
    return pa.schema([(field.name, _arrow(field.dataType)) for field in frame.schema.fields])


def _arrow(type: object) -> pa.DataType:
    try:
        return to_arrow_type(type)
    except PySparkException:
        # A type that Arrow has not holds neither names nor numbers.
        return pa.list_(pa.null())
