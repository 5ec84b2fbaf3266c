"""The lines of log files as they are printed, by file and number."""

import gzip
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from compare.logs.lines import BLOCK, LONGEST_LINE, LogFile, decoded

Line = tuple[str, int]
"""Name of a file, number of the line from 1."""

LONGEST = 500
"""Characters of a line that are kept."""


def lines_of(files: Sequence[LogFile], wanted: Iterable[Line]) -> dict[Line, str]:
    """The text of the lines; those of standard input and of files that are gone are not in it."""
    paths = {file.name: file for file in files}
    found: dict[Line, str] = {}
    for name, lines in groupby(sorted(set(wanted)), key=lambda line: line[0]):
        file = paths.get(name)
        if file is not None and file.path is not None:
            numbers = [number for _, number in lines]
            found |= {(name, number): text for number, text in _read(file, numbers).items()}
    return found


def _read(file: LogFile, numbers: Sequence[int]) -> Mapping[int, str]:
    assert file.path is not None
    found: dict[int, str] = {}
    try:
        with file.path.open("rb") as plain:
            packed = plain.peek(2)[:2] == b"\x1f\x8b"
            with gzip.open(plain, "rb") if packed else plain as stream:
                for number, line in _numbered(iter(lambda: stream.read(BLOCK), b""), numbers):
                    text = decoded(line)
                    found[number] = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    except (OSError, EOFError, zlib.error):
        pass  # what could be read before counts, as it does when the file is read for its facts
    return found


def _numbered(blocks: Iterator[bytes], numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The lines with these numbers (ascending) of a stream of blocks; ends of lines are counted, not split."""
    coming = deque(numbers)
    before, rest = 0, b""
    for block in blocks:
        block = rest + block
        whole = block.rfind(b"\n") + 1
        last = before + block.count(b"\n", 0, whole)
        if coming and coming[0] <= last:
            lines = block[:whole].split(b"\n")
            while coming and coming[0] <= last:
                number = coming.popleft()
                yield number, lines[number - before - 1]
        before, rest = last, block[whole:][:LONGEST_LINE]
        if not coming:
            return
    if coming and coming[0] == before + 1:
        yield before + 1, rest
