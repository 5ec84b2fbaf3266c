"""Read decorated text as `audit` does."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from compare.reading.gather import gather
from compare.reading.observed import ObservedGroup, Skipped
from tests.compare.showing import CAPTURES

FILES = [path for path in sorted(CAPTURES.rglob("*.txt")) if 0 < path.stat().st_size < 20_000]
"""What tools printed, and it has something to tell or says why not."""

Read = tuple[list[ObservedGroup], tuple[Skipped, ...]]


def read_bytes(raw: bytes, folder: Path, name: str = "paste.txt") -> Read:
    """Groups without what depends on the file's name and without notes, and what could not be read."""
    path = folder / name
    path.write_bytes(raw)
    gathered = gather([str(path)])
    return [replace(each, sources=(), notes=()) for each in gathered.groups], gathered.skipped


def read_lines(lines: Iterable[str], folder: Path, name: str = "paste.txt") -> Read:
    """The same of lines."""
    return read_bytes(("\n".join(lines) + "\n").encode(), folder, name)


def lines_of(path: Path) -> Sequence[str]:
    """A capture's lines."""
    return path.read_bytes().decode().removesuffix("\n").split("\n")
