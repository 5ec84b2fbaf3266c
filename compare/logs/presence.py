"""The lines of log files as they are printed, by file and number; and who was in a group when, and whose partitions
stood still, which the lanes of the picture show.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from compare.logs.identity import client_of
from compare.logs.lines import LONGEST_LINE, LogFile, Reading, blocks, decoded
from compare.logs.model import GroupLog, Rebalance
from compare.logs.rocketmq_lines import QueueAdded, Result, Rocket
from protocols.errors import UserError

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
    found: dict[int, str] = {}
    try:
        for number, line in _numbered(blocks(file, Reading()), numbers):
            text = decoded(line)
            found[number] = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    except UserError:
        pass  # a file that is gone by now
    return found


def _numbered(parts: Iterator[bytes], numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The lines with these numbers (ascending) of a stream of blocks; ends of lines are counted, not split."""
    coming = deque(numbers)
    before, rest = 0, b""
    for block in parts:
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


Span = tuple[float, float]
"""From and to, seconds since 1970."""

_GONE = frozenset({"member_left", "connection_closed", "heartbeat_expired"})


@dataclass(slots=True)
class Presence:
    """By member's name: the times in the group, and the times without its partitions."""

    there: dict[str, list[Span]] = field(default_factory=dict)
    paused: dict[str, list[Span]] = field(default_factory=dict)


def presence(log: GroupLog, begin: float, end: float) -> Presence:
    """Of all members that the logs tell of, between the begin and the end of the logs."""
    book = _Book(begin)
    if log.system == "rocketmq":
        _rocketmq(log, book)
    else:
        _kafka(log, book)
    for name in list(book.since):
        book.goes(name, end)
    pauses: dict[str, list[Span]] = {}
    for rebalance in log.rebalances:
        for member, span in sorted(rebalance.pauses.items()):
            pauses.setdefault(_name(log, member), []).append(span)
    return Presence(dict(sorted(book.spans.items())), pauses)


class _Book:
    """Who is there since when."""

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.since: dict[str, float] = {}
        self.spans: dict[str, list[Span]] = {}

    def comes(self, name: str, at: float) -> None:
        self.since.setdefault(name, at)
        self.spans.setdefault(name, [])

    def goes(self, name: str, at: float) -> None:
        """Who was never seen coming was there before the logs begin."""
        if name not in self.since and name in self.spans:
            return
        self.spans.setdefault(name, []).append((self.since.pop(name, self.begin), at))


def _kafka(log: GroupLog, found: _Book) -> None:
    for rebalance in log.rebalances:
        for departure in rebalance.departures:
            found.goes(_name(log, departure.member), departure.at)
        now = {_name(log, member) for member in _members(rebalance)}
        if rebalance.after is not None:
            for name in sorted(found.since.keys() - now):
                found.goes(name, rebalance.at)
        joined = {_name(log, member) for member in rebalance.joined}
        for name in sorted(now - found.since.keys()):
            found.comes(name, rebalance.at if name in joined else rebalance.end or rebalance.at)


def _members(each: Rebalance) -> Sequence[str]:
    return each.after if each.after is not None else [*each.joined, *each.seen]


def _rocketmq(log: GroupLog, found: _Book) -> None:
    moves = [(line.at, kind in _GONE, line.client) for kind, line in log.moves if isinstance(line, Rocket)]
    known = {name for _, _, name in moves}
    for line in log.events:
        if isinstance(line, QueueAdded | Result) and line.client and line.client not in known:
            known.add(line.client)
            moves.append((found.begin, False, line.client))
    for at, gone, client in sorted(moves):
        name = _name(log, client)
        if gone:
            found.goes(name, at)
        else:
            found.comes(name, at)


def _name(log: GroupLog, member: str) -> str:
    return log.names.get(member) or client_of(member)
