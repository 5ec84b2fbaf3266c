"""Parquet files of a path, found and read by Arrow, in tasks of about equal size."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

ROWS_AT_ONCE = 1 << 21
"""Rows that a task holds at once; more are read one part after the other."""

_BATCH = 1 << 18


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A file, its schema (with the file's metadata), and the number of rows in each of its row groups."""

    path: str
    schema: pa.Schema
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file."""

    path: str
    numbers: tuple[int, ...]


def parquet_files(path: str) -> list[ParquetFile] | None:
    """The Parquet files of a file or folder in the order of their names; hidden files are none. None where Arrow
    cannot tell: an unknown file system, a pattern, a file that is no Parquet, folders that stand for columns."""
    try:
        filesystem, place = located(path)
        info = filesystem.get_file_info(place)
        if info.type == pa.fs.FileType.Directory:
            listed = filesystem.get_file_info(pa.fs.FileSelector(place, recursive=True))
            places = sorted(each.path for each in listed if each.type == pa.fs.FileType.File)
        else:
            places = [place] if info.type == pa.fs.FileType.File else []
        prefix = path[: len(path) - len(place)] if path.endswith(place) else ""
        found = []
        for each in places:
            below = each[len(place) :].strip("/").split("/") if each != place else []
            if any("=" in folder for folder in below[:-1]):
                return None
            if any(name.startswith(("_", ".")) for name in below):
                continue
            footer = pq.read_metadata(filesystem.open_input_file(each))
            rows = tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
            found.append(ParquetFile(prefix + each, footer.schema.to_arrow_schema(), rows))
    except (pa.ArrowException, OSError):
        return None
    return found


def in_tasks(files: Iterable[ParquetFile], rows: int) -> list[tuple[RowGroups, ...]]:
    """All row groups, neighbours together in tasks of about so many ``rows``."""
    tasks: list[tuple[RowGroups, ...]] = []
    task: list[RowGroups] = []
    held = 0
    for file in files:
        chosen: list[int] = []
        for number, size in enumerate(file.rows):
            if held and held + size > rows:
                tasks.append((*task, *_some(file, chosen)))
                task, chosen, held = [], [], 0
            chosen.append(number)
            held += size
        task += _some(file, chosen)
    return [*tasks, tuple(task)] if task else tasks


def _some(file: ParquetFile, numbers: Sequence[int]) -> list[RowGroups]:
    return [RowGroups(file.path, tuple(numbers))] if numbers else []


def read(task: Iterable[RowGroups], columns: Sequence[str], texts: Sequence[str]) -> Iterator[pa.Table]:
    """The row groups' columns (those that are there) as tables of up to `ROWS_AT_ONCE` rows and a few more, the
    ``texts`` among them as dictionaries."""
    waiting: list[pa.Table] = []
    for part in task:
        file = parquet_file(part.path, texts)
        there = [name for name in columns if name in file.schema_arrow.names]
        batches = file.iter_batches(_BATCH, row_groups=list(part.numbers), columns=there, use_threads=False)
        for batch in batches:
            waiting.append(pa.Table.from_batches([batch]).select(there))
            if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                yield pa.concat_tables(waiting)
                waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def parquet_file(path: str, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """The open file, whose columns ``texts`` are read as dictionaries."""
    return pq.ParquetFile(open_file(path), read_dictionary=list(texts))


def open_file(path: str) -> pa.NativeFile:
    """The file, open for reading at any place."""
    filesystem, place = located(path)
    return filesystem.open_input_file(place)


def located(path: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a path or address, and the path there."""
    if "://" in path or path.startswith("file:"):
        found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(path)
        return found
    return pa.fs.LocalFileSystem(), path
