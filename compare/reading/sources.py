"""From command-line arguments to texts (files, folders, standard input, ``NAME=FILE``); how a server is written, and
how long a running cluster is waited for.
"""

import os.path
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from compare.reading.observed import Skipped, SourceText
from protocols import files

SERVER = re.compile(r"(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>[0-9]{1,5}))?")
"""``host`` with the brackets of an IPv6 address; ``port`` is None where none is written."""


TIMEOUT_S = 30.0
"""Seconds that reading one cluster may take, unless the user says otherwise."""


class Known(NamedTuple):
    """What an earlier reading has found out of a cluster: its id ("": it tells none), its brokers, those that it had
    told of earlier last (of Kafka ``host:port``, of RocketMQ names), its consumer groups, and its share groups."""

    cluster: str = ""
    brokers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()


NOTHING_KNOWN = Known()


MOST_EARLIER = 16
"""Brokers that are not there any more and may come back."""

_ANSWERS = 3


def answer_s(timeout_s: float) -> float:
    """The longest wait for a single answer where the whole reading may take ``timeout_s``: a third, so that one server
    that is silent does not take all others' time."""
    return timeout_s / _ANSWERS


def end_of(timeout_s: float) -> float:
    """When a reading that begins now has to be over, by `time.monotonic`."""
    return time.monotonic() + timeout_s


def left_s(ends: float) -> float:
    """Seconds until then, 0 afterwards."""
    return max(ends - time.monotonic(), 0.0)


def seconds(value: float) -> str:
    """Seconds for people."""
    return f"{round(value, 2):g} s"


def load(arguments: Iterable[str]) -> Iterator[SourceText | Skipped]:
    """The text of every source in the order given, folders walked by name; `Skipped` for what has no text."""
    for argument in arguments:
        name, separator, file = argument.partition("=")
        if argument == "-":
            yield _decoded(sys.stdin.buffer.read(), SourceText("-", ()))
        elif separator and not os.path.exists(argument):
            yield from _load_path(Path(file), name) if name else _load_path(Path(argument), None)
        else:
            yield from _load_path(Path(argument), None)


def _load_path(path: Path, group: str | None) -> Iterator[SourceText | Skipped]:
    if os.path.isdir(path):
        inside = sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
        if not inside:
            yield Skipped(str(path), None, "the folder contains no file, expected the output of admin tools")
        for file in inside:
            yield _load_file(file, group)
    else:
        yield _load_file(path, group)


def _load_file(path: Path, group: str | None) -> SourceText | Skipped:
    try:
        raw = files.content(path)
    except OSError as error:
        return Skipped(str(path), None, f"cannot be read: {error.strerror}, expected a file or folder")
    return _decoded(raw, SourceText(str(path), (), group, path.resolve().parent.name, path.stem))


def _decoded(raw: bytes, about: SourceText) -> SourceText | Skipped:
    if not raw.strip():
        return Skipped(about.name, None, "empty, expected the output of an admin tool")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", "replace")
    elif b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        return Skipped(about.name, line, "binary, expected the text that an admin tool prints")
    else:
        text = _decoded_lines(raw.removeprefix(b"\xef\xbb\xbf"))
    # Only line feeds end a line: names may hold every other character that str.splitlines takes for an end.
    lines = tuple(line.removesuffix("\r") for line in text.split("\n"))
    return SourceText(about.name, lines, about.given_group, about.folder, about.stem)


def _decoded_lines(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        # Files pasted together from several consoles mix encodings, so each line is decoded for itself.
        return "\n".join(_decoded_line(line) for line in raw.split(b"\n"))


def _decoded_line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")
